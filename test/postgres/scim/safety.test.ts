import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { changeKey } from "../../../ledger/keys/key-settings.ts";
import { listKeys } from "../../../ledger/keys/key-list.ts";
import { listActions, noteAction } from "../../../ledger/people/audit.ts";
import { acceptInvitation, acceptInvitationIn, invite } from "../../../ledger/people/invitations.ts";
import { removeMember } from "../../../ledger/people/members.ts";
import { createPerson } from "../../support/dashboard/people.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { BOB, INACTIVE, openScim, USERS } from "./harness.ts";

/** What an identity provider must not be able to do or to miss, whoever wants it to (S56, docs/scim.md). */
const postgres = usePostgres();
const ACTIVE = { op: "replace", path: "active", value: true };

async function open() {
  const { database } = await postgres.migrated();
  return openScim(database);
}

test("a person whom their own account's provider has changed can be removed by another's (S56)", async () => {
  const { ann, owner, programOf, database, accountId, patch, members } = await open();
  const eve = await owner("eve@example.com");
  const hers = await programOf(eve.accountId, eve.personId, "owner");
  const named = { Operations: [{ op: "replace", path: "displayName", value: "Eve" }] };
  expect((await hers.call("PATCH", `${USERS}/${eve.personId}`, named)).statusCode).toBe(200);
  const token = await invite(database, { accountId, email: "eve@example.com", role: "member", invitedBy: ann.personId });
  await acceptInvitation(database, token, { id: eve.personId });

  expect((await patch(eve.personId, INACTIVE)).json()).toMatchObject({ id: eve.personId, active: false });
  expect(await members()).toEqual(["ann@example.com"]);
  expect((await hers.get(`${USERS}/${eve.personId}`)).json()).toMatchObject({ displayName: "Eve", active: true });
});

test("nobody becomes an owner by it: not by being one before, nor by an invitation of an owner's (S56)", async () => {
  const { inAccount, accountId, patch, invited, members, database, ann } = await open();
  const { personId } = await inAccount(accountId, "owner", "olga@example.com");
  await patch(personId, INACTIVE);
  expect(await members()).toEqual(["ann@example.com"]);
  await patch(personId, { op: "replace", path: "emails.value", value: "mallory@example.com" });
  expect((await patch(personId, ACTIVE)).json()).toMatchObject({ active: true, roles: [{ value: "member" }] });
  expect(await invited()).toEqual(["mallory@example.com member"]);

  await invite(database, { accountId, email: "vic@example.com", role: "viewer", invitedBy: ann.personId });
  await patch(ann.personId, { op: "replace", path: "emails.value", value: "vic@example.com" });
  expect(await invited()).toEqual(["mallory@example.com member", "vic@example.com viewer"]);
});

test("changes of names leave an owner's own invitation as it is (S56)", async () => {
  const { program, patch, invited, database, accountId, ann } = await open();
  const { id } = (await program.call("POST", USERS, { ...BOB, active: false })).json();
  await invite(database, { accountId, email: "bob@example.com", role: "owner", invitedBy: ann.personId });
  await patch(id, { op: "replace", path: "displayName", value: "Bob" });
  expect(await invited()).toEqual(["bob@example.com owner"]);
});

test("whoever accepts while they become inactive does not stay (S56)", async () => {
  const { program, patch, members, database, tokenOf } = await open();
  const { id } = (await program.call("POST", USERS, BOB)).json();
  const { person } = await createPerson(database, "bob@example.com");
  const { answer } = await database.transaction(async (transaction) => {
    await acceptInvitationIn(transaction, tokenOf("bob@example.com"), person);
    const answer = patch(id, INACTIVE);
    // Until it waits for the invitation.
    await sleep(300);
    return { answer };
  });
  expect((await answer).json()).toMatchObject({ id, active: false });
  expect(await members()).toEqual(["ann@example.com"]);
});

test("keys that somebody enabled again stay enabled, whatever the provider changes of who has left (S56)", async () => {
  const { program, patch, join, database, accountId } = await open();
  const { id } = (await program.call("POST", USERS, BOB)).json();
  const bob = await join("bob@example.com");
  const { publicId } = await createApiKey(database, { accountId, name: "bob's", pepper: Buffer.alloc(32) });
  await noteAction(database, { accountId, personId: bob.id, action: "key.created", subject: publicId });
  await patch(id, INACTIVE);
  const statuses = async () => (await listKeys(database, { accountId, limit: 10 })).keys.map(({ status }) => status);
  expect(await statuses()).toEqual(["disabled"]);
  await changeKey(database, { accountId, publicId }, { isDisabled: false });
  await patch(id, { op: "replace", path: "displayName", value: "Bob" });
  await patch(id, INACTIVE);
  await program.call("DELETE", `${USERS}/${id}`);
  expect(await statuses()).toEqual(["active"]);
});

test("who is a member is active, although the provider had removed them before (S56)", async () => {
  const { program, patch, join, database, accountId, ann } = await open();
  const { id } = (await program.call("POST", USERS, BOB)).json();
  const bob = await join("bob@example.com");
  expect((await patch(id, INACTIVE)).json()).toMatchObject({ active: false });
  const token = await invite(database, { accountId, email: "bob@example.com", role: "member", invitedBy: ann.personId });
  await acceptInvitation(database, token, bob);
  expect((await program.get(`${USERS}/${id}`)).json()).toMatchObject({ active: true });
  await database.transaction((transaction) => removeMember(transaction, { accountId, personId: bob.id }));
  expect((await program.get(`${USERS}/${id}`)).json()).toMatchObject({ active: false });
});

test("a member can be removed from an account that has its maximum of users (S56)", async () => {
  const { program, inAccount, accountId, patch, members, database } = await open();
  const { personId } = await inAccount(accountId, "member", "carl@example.com");
  await database.execute(
    `INSERT INTO provisioned_user (account_id, id, user_name, email, role, is_active)
     SELECT $1, uuidv7(), 'user-' || i, 'user-' || i || '@example.com', 'member', false FROM generate_series(1, $2::integer) AS i`,
    [accountId, ACCOUNT_BOUNDS.provisionedUsers],
  );
  expect((await program.call("POST", USERS, BOB)).statusCode).toBe(400);
  expect((await patch(personId, INACTIVE)).json()).toMatchObject({ id: personId, active: false });
  expect(await members()).toEqual(["ann@example.com"]);
});

test("whoever could not be invited again is inactive, and is invited once it works (S56)", async () => {
  const { program, patch, invited, mail } = await open();
  const { id } = (await program.call("POST", USERS, BOB)).json();
  await patch(id, INACTIVE);
  mail.fails = true;
  expect((await patch(id, ACTIVE)).statusCode).toBe(503);
  expect((await program.get(`${USERS}/${id}`)).json()).toMatchObject({ active: false });
  mail.fails = false;
  expect((await patch(id, ACTIVE)).statusCode).toBe(200);
  expect(await invited()).toEqual(["bob@example.com member"]);
});

test("a new address that cannot be invited leaves the earlier invitation (S56)", async () => {
  const { program, patch, invited, database, accountId, ann } = await open();
  const { id } = (await program.call("POST", USERS, BOB)).json();
  const action = { accountId, personId: ann.personId, action: "member.invited", subject: "someone@example.com" } as const;
  for (let sent = 1; sent < ACCOUNT_BOUNDS.invitationsADay; sent += 1) await noteAction(database, action);
  const moved = await patch(id, { op: "replace", path: "emails.value", value: "robert@example.com" });
  expect([moved.statusCode, moved.headers["retry-after"]]).toEqual([429, "3600"]);
  expect((await program.get(`${USERS}/${id}`)).json()).toMatchObject({ emails: [{ value: "bob@example.com" }], active: true });
  expect(await invited()).toEqual(["bob@example.com member"]);
});

test("an invitation that could not be mailed is an error, and nobody is a user because of it (S56)", async () => {
  const { program, find, invited, mail } = await open();
  mail.fails = true;
  const answer = await program.call("POST", USERS, BOB);
  expect([answer.statusCode, answer.json().detail]).toEqual([
    503,
    "The mail server did not accept the invitation. Try again later.",
  ]);
  expect([await invited(), (await find("bob@example.com")).totalResults]).toEqual([[], 0]);
  mail.fails = false;
  expect((await program.call("POST", USERS, BOB)).statusCode).toBe(201);
});

test("invitations, and their end, are actions of the token (S56)", async () => {
  const { program, patch, database, accountId } = await open();
  const { id } = (await program.call("POST", USERS, BOB)).json();
  await patch(id, INACTIVE);
  const actions = (await listActions(database, { accountId, limit: 9 })).map(({ action, subject, by }) => [action, subject, by]);
  const by = "token a owner's program";
  expect(actions).toEqual([
    ["member.invitation_revoked", "bob@example.com", by],
    ["member.invited", "bob@example.com", by],
  ]);
});

test("a person who has not confirmed their address sends no invitation with their session (S56)", async () => {
  const { ann, database, invited } = await open();
  await database.execute("UPDATE person SET email_verified_at = NULL WHERE id = $1", [ann.personId]);
  const answer = await ann.call("POST", USERS, BOB);
  expect([answer.statusCode, await invited()]).toEqual([403, []]);
});

test("an id that cannot be one is not found (S21, S56)", async () => {
  const { program } = await open();
  for (const id of ["%00", "none", "%F0%9F%98%80", "' OR true --", "00000000-0000-7000-8000-00000000000"])
    expect([id, (await program.get(`${USERS}/${id}`)).statusCode]).toEqual([id, 404]);
});

// One that compares each with each takes minutes, and the test's time is over.
test("a body of thousands of attributes is read in one pass (S56)", async () => {
  const { patch, ann } = await open();
  const value = Object.fromEntries(Array.from({ length: 7_000 }, (_, index) => [index.toString(36).padStart(3, "z"), 1]));
  expect((await patch(ann.personId, { op: "add", value })).statusCode).toBe(200);
});

test("a request without a body may have SCIM's type, and filters may name an address as a PATCH does (S56)", async () => {
  const { program, app } = await open();
  const { id } = (await program.call("POST", USERS, BOB)).json();
  for (const attribute of ['emails[type eq "work"].value', "urn:ietf:params:scim:schemas:core:2.0:User:userName"]) {
    const filter = encodeURIComponent(`${attribute} eq "Bob@example.com"`);
    expect((await program.get(`${USERS}?filter=${filter}`)).json()).toMatchObject({ totalResults: 1, Resources: [{ id }] });
  }
  expect((await program.get(`${USERS}?attributes=`)).json()).toMatchObject({ Resources: [{ userName: "ann@example.com" }, BOB] });
  const headers = { authorization: `Bearer ${program.token}`, "content-type": "application/scim+json" };
  expect((await app.inject({ url: `${USERS}/${id}`, headers })).statusCode).toBe(200);
  expect((await app.inject({ method: "DELETE", url: `${USERS}/${id}`, headers })).statusCode).toBe(204);
});

test("of changes to one user that come at once, none undoes another (S56)", async () => {
  const { program, patch } = await open();
  const { id } = (await program.call("POST", USERS, BOB)).json();
  for (let round = 0; round < 5; round++) {
    const names = { givenName: `Given ${round}`, familyName: `Family ${round}` };
    const answers = await Promise.all([
      patch(id, { op: "replace", path: "name.givenName", value: names.givenName }),
      patch(id, { op: "replace", path: "name.familyName", value: names.familyName }),
      patch(id, { op: "replace", path: "externalId", value: `00u${round}` }),
      patch(id, { op: "replace", path: "displayName", value: `Bob ${round}` }),
    ]);
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
    expect((await program.get(`${USERS}/${id}`)).json()).toMatchObject({
      name: names,
      externalId: `00u${round}`,
      displayName: `Bob ${round}`,
    });
  }
});

test("a filter by a name that every JavaScript object has is refused, as any unknown attribute is (S21, S56)", async () => {
  const { program } = await open();
  for (const name of ["constructor", "__proto__", "emails[type eq 1].constructor"]) {
    const answer = await program.get(`${USERS}?filter=${encodeURIComponent(`${name} eq "x"`)}`);
    expect([name, answer.statusCode, answer.json().scimType]).toEqual([name, 400, "invalidFilter"]);
  }
});

test("whoever accepts the invitation of a user who had left is that user, and can be removed (S56)", async () => {
  const { program, patch, join, members } = await open();
  const { id } = (await program.call("POST", USERS, BOB)).json();
  await join("bob@example.com");
  await patch(id, INACTIVE);
  await patch(id, { op: "replace", path: "emails.value", value: "robert@example.com" }, ACTIVE);
  await join("robert@example.com");
  expect((await program.get(`${USERS}/${id}`)).json()).toMatchObject({ active: true });
  expect((await program.get(USERS)).json()).toMatchObject({ totalResults: 2 });

  await patch(id, INACTIVE);
  expect(await members()).toEqual(["ann@example.com"]);
});

test("a person who had left and comes back as another user is removed with the new one (S56)", async () => {
  const { program, patch, join, members, database, tokenOf } = await open();
  const former = (await program.call("POST", USERS, BOB)).json();
  const bob = await join("bob@example.com");
  await patch(former.id, INACTIVE);
  const again = { ...BOB, userName: "bob.new@example.com", externalId: "00u2" };
  const { id } = (await program.call("POST", USERS, again)).json();
  await acceptInvitation(database, tokenOf("bob.new@example.com"), bob);
  expect((await program.get(`${USERS}/${id}`)).json()).toMatchObject({ active: true });
  expect((await program.get(`${USERS}/${former.id}`)).json()).toMatchObject({ active: false });

  expect((await program.call("DELETE", `${USERS}/${id}`)).statusCode).toBe(204);
  expect(await members()).toEqual(["ann@example.com"]);
});
