import { GatewayError } from "../../contract/errors.ts";
import type { Mailer } from "../mail/letter.ts";
import type { Member } from "./visitor.ts";

/** Can people be asked to prove an address? Letters that nobody gets prove nothing: locally nobody is asked. */
export function canProveAddresses(mailer: Mailer | undefined): boolean {
  return mailer !== undefined && mailer.outbox === null;
}

/** @throws GatewayError `permission_denied` for somebody who has to prove their address first. */
export function checkEmailProved({ mustProveEmail, person }: Pick<Member, "mustProveEmail" | "person">): void {
  if (mustProveEmail)
    throw new GatewayError(
      "permission_denied",
      `Confirm your email address, ${person.email}, first: use the button at the top of the page to get a link.`,
    );
}

/** @throws GatewayError `permission_denied` in an account from which nothing is taken. */
export function checkNotSuspended({ membership }: Pick<Member, "membership">): void {
  if (membership.isSuspended)
    throw new GatewayError(
      "permission_denied",
      "This account is suspended, so it cannot make payments. Contact the operator of this service.",
    );
}
