import type { Draft } from "./draft.ts";
import type { ProviderId } from "../oidc/config.ts";
import type { Membership } from "../../ledger/people/members.ts";
import type { Person } from "../../ledger/people/persons.ts";
import type { Session } from "../../ledger/sign-in/sessions.ts";

/** The result of a form, on the page that follows. */
export interface Toast {
  text: string;
  /** Nothing was changed: it is the reason. */
  isProblem?: true | undefined;
}

/** A signed-in person, with the account in view. */
export interface Member {
  person: Person;
  session: Session;
  membership: Membership;
  memberships: readonly Membership[];
  /** Their address is unconfirmed, and they can be asked to confirm it. */
  mustProveEmail: boolean;
  /** They must use a second factor first: the account in view requires it, or they are an administrator. */
  mustProveFactor: boolean;
  /** The only provider for their address; null if there is no restriction. */
  onlyProvider: ProviderId | null;
  /** For forms. */
  csrf: string;
  /** The result of the form that led here; null if none. */
  toast: Toast | null;
  /** Their input on this page before they had to sign in again; null if none. */
  draft: Draft | null;
}

declare module "fastify" {
  interface FastifyRequest {
    /** null if nobody is signed in. */
    visitor: Member | null;
  }
}
