import { invite } from "../../ledger/people/invitations.ts";
import { takeLetter } from "../../ledger/people/letter-budget.ts";
import type { Role } from "../../ledger/people/members.ts";
import type { AppDeps } from "../app-deps.ts";
import { sendToAny } from "./letter.ts";
import { invitationLetter } from "./letters.ts";

/** The outcome of the email; "enough": the mailbox got too many today. */
export type InvitationMail = "sent" | "none" | "failed" | "enough";

export interface Invited {
  link: string;
  mail: InvitationMail;
}

interface Invitee {
  accountId: string;
  accountName: string;
  email: string;
  role: Role;
  by: { id: string; name: string };
  /** The management token that does it in their name. */
  tokenId?: string | null;
}

/** Invites somebody to an account, and mails them the link. @throws as `invite`. */
export function createInviter({ database, publicBaseUrl, mailer, log }: AppDeps): (invitee: Invitee) => Promise<Invited> {
  return async ({ accountId, accountName, email, role, by, tokenId = null }) => {
    const token = await invite(database, { accountId, email, role, invitedBy: by.id, tokenId });
    const link = `${publicBaseUrl}/dashboard/invitation?token=${token}`;
    if (mailer === undefined) return { link, mail: "none" };
    if (!(await takeLetter(database, email))) return { link, mail: "enough" };
    const letter = invitationLetter({ to: email, accountName, role, by: by.name, link });
    const isSent = await sendToAny(mailer, [letter], (error) => log.error({ err: error }, "failed to mail an invitation"));
    return { link, mail: isSent ? "sent" : "failed" };
  };
}
