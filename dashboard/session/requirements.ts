import { GatewayError } from "../../contract/errors.ts";
import type { Mailer } from "../mail/letter.ts";
import type { Member } from "./visitor.ts";

/** Whether people can be asked to confirm an address: undelivered mail proves nothing, so locally nobody is asked. */
export function canProveAddresses(mailer: Mailer | undefined): boolean {
  return mailer !== undefined && mailer.outbox === null;
}

/** @throws GatewayError `permission_denied` if the address must be confirmed first. */
export function checkEmailProved({ mustProveEmail, person }: Pick<Member, "mustProveEmail" | "person">): void {
  if (mustProveEmail)
    throw new GatewayError(
      "permission_denied",
      `Confirm your email address, ${person.email}, first: use the button at the top of the page to get a link.`,
    );
}

/** @throws GatewayError `permission_denied` in an account that accepts no payments. */
export function checkNotSuspended({ membership }: Pick<Member, "membership">): void {
  if (membership.isSuspended)
    throw new GatewayError(
      "permission_denied",
      "This account is suspended, so it cannot make payments. Contact the operator of this service.",
    );
}
