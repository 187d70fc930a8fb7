import type { Letter } from "../../../dashboard/mail/letter.ts";
import { acceptInvitation, listInvitations } from "../../../ledger/people/invitations.ts";
import { listMembers } from "../../../ledger/people/members.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { createPerson } from "../../support/dashboard/people.ts";

export const USERS = "/api/v1/scim/v2/Users";
const USER_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User";
export const BOB = { schemas: [USER_SCHEMA], userName: "bob@example.com", externalId: "00u1", active: true };
export const INACTIVE = { op: "Replace", path: "active", value: "False" };

/** An account whose identity provider has a token of its owner, ann@example.com. */
export async function openScim(database: Database) {
  const letters: Letter[] = [];
  const mail = { fails: false };
  const mailer = {
    outbox: null,
    send: async (letter: Letter) => {
      if (mail.fails) throw new Error("451 try again later");
      letters.push(letter);
    },
  };
  const dashboard = await openDashboard(database, { mailer });
  const ann = await dashboard.owner("ann@example.com");
  const program = await dashboard.program(ann.accountId, ann.personId, "owner");
  const { accountId } = ann;
  const tokenOf = (to: string) =>
    letters
      .filter((letter) => letter.to === to)
      .map(({ text }) => /invitation\?token=(\S+)/.exec(text)?.[1])
      .findLast((token) => token !== undefined) ?? "";
  return {
    ...dashboard,
    programOf: dashboard.program,
    ann,
    program,
    accountId,
    letters,
    mail,
    tokenOf,
    members: async () => (await listMembers(database, accountId)).map(({ email }) => email),
    invited: async () => (await listInvitations(database, accountId)).map(({ email, role }) => `${email} ${role}`),
    find: async (userName: string) =>
      (await program.get(`${USERS}?filter=${encodeURIComponent(`userName eq "${userName}"`)}`)).json(),
    /** Somebody follows the link in their mail. */
    async join(email: string) {
      const { person } = await createPerson(database, email);
      await acceptInvitation(database, tokenOf(email), person);
      return person;
    },
    patch: (id: string, ...Operations: object[]) => program.call("PATCH", `${USERS}/${id}`, { Operations }),
  };
}
