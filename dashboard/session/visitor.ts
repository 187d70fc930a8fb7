import type { Draft } from "./draft.ts";
import type { ProviderId } from "../oidc/config.ts";
import type { Membership } from "../../ledger/people/members.ts";
import type { Person } from "../../ledger/people/persons.ts";
import type { Session } from "../../ledger/sign-in/sessions.ts";

/** Somebody signed in, with the account in view. */
export interface Member {
  person: Person;
  session: Session;
  membership: Membership;
  memberships: readonly Membership[];
  /** They have not proved yet that their address is theirs, and can be asked to. */
  mustProveEmail: boolean;
  /** They must show a second factor before anything else: the account in view asks for it, or they run the service. */
  mustProveFactor: boolean;
  /** The one service through which their address signs in; null: any way will do. */
  onlyProvider: ProviderId | null;
  /** For forms. */
  csrf: string;
  /** What the form did that led here; null: nothing to say. */
  toast: string | null;
  /** What they had typed on this page before their session ended; null: nothing. */
  draft: Draft | null;
}

declare module "fastify" {
  interface FastifyRequest {
    /** null: nobody has signed in. */
    visitor: Member | null;
  }
}
