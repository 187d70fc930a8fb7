import { expect, test } from "vitest";
import { listMadeThings, revokeMadeThingsIn } from "../../../ledger/people/made-by.ts";
import { acceptInvitation, invite, listInvitations } from "../../../ledger/people/invitations.ts";
import { changeRole, listMembers, listMemberships, removeMember } from "../../../ledger/people/members.ts";
import { findSession, startSession } from "../../../ledger/sign-in/sessions.ts";
import { insertedKeyId, insertKeys } from "../../support/dashboard/many-keys.ts";
import { createMember, createPerson } from "../../support/dashboard/people.ts";
import { explainQueries } from "../../support/billing/explained-queries.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();

test("an invitation creates one member, once, however many accept it concurrently", async () => {
  const { database } = await postgres.migrated();
  const { person: ann, accountId } = await createPerson(database, "ann@example.com");
  const guests = [await createPerson(database, "bob@example.com"), await createPerson(database, "cy@example.com")];
  const token = await invite(database, { accountId, email: "bob@example.com", role: "viewer", invitedBy: ann.id });

  const taken = await Promise.allSettled(guests.map(({ person }) => acceptInvitation(database, token, person)));
  const accepted = taken.filter((result) => result.status === "fulfilled");
  expect(accepted.map(({ value }) => value)).toEqual([
    { accountId, accountName: "ann", role: "viewer", isSuspended: false, requiresSecondFactor: false },
  ]);
  const refused = taken.filter((result) => result.status === "rejected");
  expect(refused.map(({ reason }) => reason)).toEqual([expect.objectContaining({ code: "not_found" })]);
  expect((await listMembers(database, accountId)).map(({ role }) => role)).toEqual(["owner", "viewer"]);
});

test("a person who accepts two invitations concurrently becomes a member once", async () => {
  const { database } = await postgres.migrated();
  const { person: ann, accountId } = await createPerson(database, "ann@example.com");
  const { person: bob } = await createPerson(database, "bob@example.com");
  const invitation = { accountId, role: "member", invitedBy: ann.id } as const;
  const tokens = [
    await invite(database, { ...invitation, email: "bob@example.com" }),
    await invite(database, { ...invitation, email: "bob@example.org" }),
  ];
  await Promise.all(tokens.map((token) => acceptInvitation(database, token, bob)));
  expect((await listMembers(database, accountId)).map(({ email }) => email)).toEqual(["ann@example.com", "bob@example.com"]);
  expect((await listMemberships(database, bob.id)).map(({ role }) => role)).toEqual(["owner", "member"]);
});

test("an owner who accepts an invitation as a viewer remains the owner", async () => {
  const { database } = await postgres.migrated();
  const { person: ann, accountId } = await createPerson(database, "ann@example.com");
  const token = await invite(database, { accountId, email: "ann@example.com", role: "viewer", invitedBy: ann.id });
  expect(await acceptInvitation(database, token, ann)).toMatchObject({ role: "owner" });
  expect(await listMembers(database, accountId)).toMatchObject([{ personId: ann.id, role: "owner" }]);
});

test("an invitation expires after seven days, and is sent to an address", async () => {
  const { database } = await postgres.migrated();
  const { person: ann, accountId } = await createPerson(database, "ann@example.com");
  const { person: bob } = await createPerson(database, "bob@example.com");
  const invitation = { accountId, role: "member", invitedBy: ann.id } as const;
  await expect(invite(database, { ...invitation, email: "bob" })).rejects.toMatchObject({ field: "email" });
  const token = await invite(database, { ...invitation, email: "bob@example.com" });
  await database.execute("UPDATE invitation SET expires_at = expires_at - interval '7 days'");
  await expect(acceptInvitation(database, token, bob)).rejects.toMatchObject({ code: "not_found" });
  await expect(acceptInvitation(database, "never made", bob)).rejects.toMatchObject({ code: "not_found" });
  expect(await listMembers(database, accountId)).toHaveLength(1);
});

test("a removed member loses the account in all sessions at once, and keeps their own accounts", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await createPerson(database, "ann@example.com");
  const bob = await createMember(database, { accountId, email: "bob@example.com", role: "member" });
  const [own] = await listMemberships(database, bob.id);
  const start = (inView: string) => startSession(database, { personId: bob.id, accountId: inView, userAgent: "browser" });
  const [inAnns, inOwn] = [await start(accountId), await start(own?.accountId ?? "")];
  await database.transaction((transaction) => removeMember(transaction, { accountId, personId: bob.id }));
  expect(await findSession(database, inAnns)).toBeUndefined();
  expect(await findSession(database, inOwn)).toBeDefined();
  expect(await listMemberships(database, bob.id)).toEqual([own]);
});

test("a second invitation to an address replaces the first, and an account sends fifty per day", async () => {
  const { database } = await postgres.migrated();
  const { person: ann, accountId } = await createPerson(database, "ann@example.com");
  const { person: bob } = await createPerson(database, "bob@example.com");
  const inviteBob = (email: string) => invite(database, { accountId, email, role: "member", invitedBy: ann.id });
  const [first, second] = [await inviteBob("bob@example.com"), await inviteBob("BOB@example.com")];
  await expect(acceptInvitation(database, first, bob)).rejects.toMatchObject({ code: "not_found" });
  expect(await listInvitations(database, accountId)).toMatchObject([{ email: "BOB@example.com" }]);
  await acceptInvitation(database, second, bob);
  for (let index = 2; index < 50; index++) await inviteBob("cy@example.com");
  await expect(inviteBob("cy@example.com")).rejects.toMatchObject({ code: "rate_limited" });
});

test.for(["removed", "made less"] as const)("an invitation whose sender is %s no longer works", async (action) => {
  const { database } = await postgres.migrated();
  const { person: ann, accountId } = await createPerson(database, "ann@example.com");
  const bob = await createMember(database, { accountId, email: "bob@example.com", role: "owner" });
  const bobs = await invite(database, { accountId, email: "mallory@example.com", role: "owner", invitedBy: bob.id });
  const anns = await invite(database, { accountId, email: "cy@example.com", role: "viewer", invitedBy: ann.id });
  if (action === "removed")
    await database.transaction((transaction) => removeMember(transaction, { accountId, personId: bob.id }));
  else await database.transaction((transaction) => changeRole(transaction, { accountId, personId: bob.id, role: "member" }));
  await expect(acceptInvitation(database, bobs, ann)).rejects.toMatchObject({ code: "not_found" });
  expect(await acceptInvitation(database, anns, ann)).toMatchObject({ accountId });
});

test("an account keeps its last owner, who can neither leave nor be demoted", async () => {
  const { database } = await postgres.migrated();
  const { person: ann, accountId } = await createPerson(database, "ann@example.com");
  await createMember(database, { accountId, email: "bob@example.com", role: "member" });
  const lastOwner = { code: "invalid_request", field: "role" };
  await expect(
    database.transaction((transaction) => removeMember(transaction, { accountId, personId: ann.id })),
  ).rejects.toMatchObject(lastOwner);
  await expect(
    database.transaction((transaction) => changeRole(transaction, { accountId, personId: ann.id, role: "viewer" })),
  ).rejects.toMatchObject(lastOwner);
  expect((await listMembers(database, accountId)).map(({ role }) => role)).toEqual(["owner", "member"]);
});

test.for(["remove", "change"] as const)("if two owners leave concurrently (%s), one stays", async (action) => {
  const { database } = await postgres.migrated();
  for (let round = 0; round < 5; round++) {
    const { person: ann, accountId } = await createPerson(database, `ann${round}@example.com`);
    const bob = await createMember(database, { accountId, email: `bob${round}@example.com`, role: "owner" });
    const go = (personId: string) =>
      action === "remove"
        ? database.transaction((transaction) => removeMember(transaction, { accountId, personId }))
        : database.transaction((transaction) => changeRole(transaction, { accountId, personId, role: "member" }));
    const gone = await Promise.allSettled([go(ann.id), go(bob.id)]);
    expect(gone.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect((await listMembers(database, accountId)).filter(({ role }) => role === "owner")).toHaveLength(1);
  }
});

test("members of another account are not found", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await createPerson(database, "ann@example.com");
  const { person: bob, accountId: bobsAccount } = await createPerson(database, "bob@example.com");
  await expect(
    database.transaction((transaction) => removeMember(transaction, { accountId, personId: bob.id })),
  ).rejects.toMatchObject({ code: "not_found" });
  await expect(
    database.transaction((transaction) => changeRole(transaction, { accountId, personId: bob.id, role: "viewer" })),
  ).rejects.toMatchObject({
    code: "not_found",
  });
  expect(await listMembers(database, bobsAccount)).toMatchObject([{ personId: bob.id, role: "owner" }]);
});

test("the keys that a person knows are found without comparing each of the account's with all that was done to them", async () => {
  const { database } = await postgres.migrated();
  const { person, accountId } = await createPerson(database, "ann@example.com");
  await insertKeys(database, { accountId, from: 1, count: 1_000 });
  // Nobody has told the planner how many there are.
  await database.execute(
    `INSERT INTO audit_entry (id, account_id, person_id, action, subject)
     SELECT uuidv7(), $1, $2, 'key.rotated', public_id FROM api_key, generate_series(1, 5) WHERE account_id = $1 AND public_id > $3`,
    [accountId, person.id, insertedKeyId(500)],
  );
  const explained = explainQueries(database);
  await listMadeThings(explained.database, { accountId, personId: person.id });
  expect(explained.rowsRemoved(), explained.plans.join("\n")).toBeLessThan(5_000);
  expect((await listMadeThings(database, { accountId, personId: person.id })).keys).toHaveLength(100);
  await database.transaction((transaction) =>
    revokeMadeThingsIn(transaction, { accountId, personId: person.id, byPersonId: person.id }),
  );
  expect(await database.execute("SELECT FROM api_key WHERE revoked_at IS NULL")).toBe(500);
});
