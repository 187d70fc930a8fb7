import { expect, test } from "vitest";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { listKeys } from "../../../ledger/keys/key-list.ts";
import { listActions, noteAction } from "../../../ledger/people/audit.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { BOB, INACTIVE, openScim, USERS } from "./harness.ts";

/** SCIM 2.0 on a real Postgres (S56, docs/scim.md). test/clients asks it with an independent client. */
const postgres = usePostgres();

async function open() {
  const { database } = await postgres.migrated();
  return openScim(database);
}

test("a created user is invited by mail, keeps their id when they join, and leaves when they become inactive (S56)", async () => {
  const { program, find, join, patch, members, invited, database, accountId, ann, letters } = await open();
  const name = { givenName: "Bob", familyName: "Beispiel" };
  const made = await program.call("POST", USERS, { ...BOB, name, emails: [{ value: "Bob.B@example.com", primary: true }] });
  expect([made.statusCode, made.headers["content-type"]]).toEqual([201, "application/scim+json; charset=utf-8"]);
  const { id, meta, ...user } = made.json();
  const stored = { ...BOB, name, emails: [{ value: "Bob.B@example.com", type: "work" }] };
  expect(user).toEqual({ ...stored, roles: [{ value: "member" }] });
  expect([meta.location, made.headers["location"]]).toEqual(Array(2).fill(`http://gateway.example${USERS}/${id}`));
  expect([await members(), await invited()]).toEqual([["ann@example.com"], ["Bob.B@example.com member"]]);

  const bob = await join("Bob.B@example.com");
  expect(await members()).toEqual(["ann@example.com", "Bob.B@example.com"]);
  expect(await find("BOB@example.com")).toMatchObject({ totalResults: 1, Resources: [{ ...stored, id }] });

  const key = await createApiKey(database, { accountId, name: "bob's", pepper: Buffer.alloc(32) });
  const actor = { accountId, personId: bob.id, action: "key.created", subject: key.publicId } as const;
  await noteAction(database, actor);
  letters.length = 0;
  expect((await patch(id, INACTIVE)).json()).toMatchObject({ id, active: false });
  expect(await members()).toEqual(["ann@example.com"]);
  const { keys } = await listKeys(database, { accountId, limit: 10 });
  expect(keys.map(({ status }) => status)).toEqual(["disabled"]);
  const actions = (await listActions(database, { accountId, limit: 3 })).map(({ action, by }) => `${action} ${by}`);
  expect(actions).toEqual(
    ["member.removed", "key.disabled"]
      .map((action) => `${action} token a owner's program`)
      .concat("key.created Bob.B@example.com"),
  );
  expect(letters.map(({ to }) => to).toSorted()).toEqual(["Bob.B@example.com", "ann@example.com"]);
  expect(letters[0]?.text).toContain("identity provider removed Bob.B@example.com from the account");
  expect((await ann.get("/dashboard/members")).statusCode).toBe(200);

  expect((await patch(id, { op: "replace", value: { active: true } })).json()).toMatchObject({ id, active: true });
  expect(await invited()).toEqual(["Bob.B@example.com member"]);
});

test("members who joined without it are found, changed under their own id, and removed (S56)", async () => {
  const { program, inAccount, accountId, find, patch, members, ann } = await open();
  const { personId } = await inAccount(accountId, "viewer", "carl@example.com");
  const [carl] = (await find("Carl@Example.com")).Resources;
  expect(carl).toMatchObject({ id: personId, userName: "carl@example.com", active: true, roles: [{ value: "viewer" }] });
  const changes = [
    { op: "add", path: "externalId", value: "00u2" },
    { op: "replace", path: 'roles[primary eq "True"].value', value: "member" },
    { op: "replace", value: { "name.givenName": "Carl", "name.familyName": "C.", title: "ignored" } },
  ];
  expect((await patch(personId, ...changes)).json()).toMatchObject({
    id: personId,
    externalId: "00u2",
    name: { givenName: "Carl", familyName: "C." },
    roles: [{ value: "member" }],
  });
  expect((await program.call("POST", USERS, { userName: "carl@example.com" })).statusCode).toBe(409);
  expect((await program.call("DELETE", `${USERS}/${personId}`)).statusCode).toBe(204);
  expect([await members(), (await program.get(`${USERS}/${personId}`)).statusCode]).toEqual([["ann@example.com"], 404]);

  const dora = await inAccount(accountId, "member", "dora@example.com");
  expect((await patch(dora.personId, INACTIVE)).json()).toMatchObject({ id: dora.personId, active: false });
  expect(await members()).toEqual(["ann@example.com"]);

  const last = await patch(ann.personId, INACTIVE);
  expect([last.statusCode, last.json().detail]).toEqual([400, "An account needs at least one owner."]);
  expect(await members()).toEqual(["ann@example.com"]);
});

test("a user's invitation follows their address and role, and ends with them (S56)", async () => {
  const { program, patch, invited } = await open();
  const { id } = (await program.call("POST", USERS, { ...BOB, roles: [{ value: "viewer" }] })).json();
  expect(await invited()).toEqual(["bob@example.com viewer"]);
  await patch(id, { op: "replace", path: 'emails[type eq "work"].value', value: "robert@example.com" });
  expect(await invited()).toEqual(["robert@example.com viewer"]);
  await patch(id, { op: "replace", path: "roles", value: [{ value: "member" }] });
  expect(await invited()).toEqual(["robert@example.com member"]);
  await patch(id, INACTIVE);
  expect(await invited()).toEqual([]);
  const replaced = await program.call("PUT", `${USERS}/${id}`, { ...BOB, externalId: undefined });
  expect(replaced.json()).not.toHaveProperty("externalId");
  expect(await invited()).toEqual(["robert@example.com member"]);
  expect((await program.call("DELETE", `${USERS}/${id}`)).statusCode).toBe(204);
  expect(await invited()).toEqual([]);
});

test("an account sees its own users alone, page by page (S56)", async () => {
  const { program, owner, programOf } = await open();
  const eve = await owner("eve@example.com");
  const other = await programOf(eve.accountId, eve.personId, "owner");
  const ids = [];
  for (const number of [1, 2, 3])
    ids.push((await program.call("POST", USERS, { userName: `user-${number}@example.com`, active: false })).json().id);
  const pages = await Promise.all([1, 3, 9].map((start) => program.get(`${USERS}?startIndex=${start}&count=2`)));
  expect(pages.map((page) => page.json()).map(({ totalResults, itemsPerPage }) => [totalResults, itemsPerPage])).toEqual([
    [4, 2],
    [4, 2],
    [4, 0],
  ]);
  const seen = pages.flatMap((page) => page.json().Resources.map(({ userName }: { userName: string }) => userName));
  expect(new Set(seen).size).toBe(4);
  expect((await program.get(`${USERS}?count=0`)).json()).toMatchObject({ totalResults: 4, Resources: [] });
  expect((await other.get(USERS)).json()).toMatchObject({ totalResults: 1, Resources: [{ userName: "eve@example.com" }] });
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const answer = await other.call(method, `${USERS}/${ids[0]}`, { Operations: [INACTIVE] });
    expect([method, answer.statusCode]).toEqual([method, 404]);
  }
});

test.for([
  [{}, "userName is required."],
  [{ userName: "" }, "userName must not be empty."],
  [{ userName: "bob" }, "emails.value must be an email address."],
  [{ userName: "bob", emails: [{ value: "nowhere" }] }, "emails.value must be an email address."],
  [
    { userName: "b@example.com", roles: [{ value: "owner" }] },
    "roles.value must be member or viewer; to make someone an owner, use the dashboard.",
  ],
  [{ userName: "b@example.com", active: "perhaps" }, "active must be true or false."],
  [{ userName: "b\0@example.com" }, "userName must not contain NUL."],
  [{ userName: "x".repeat(255) }, "userName must have at most 254 characters."],
  [{ userName: 5 }, "userName must be a string."],
  [{ userName: "b@example.com", emails: "b@example.com" }, "emails must be a list."],
  [{ userName: "b@example.com", emails: ["b@example.com"] }, "emails.0 must be an object with a value."],
  [[], "The body must be an object."],
] as const)("a user such as %j is refused, and nobody is invited (S21, S56)", async ([body, detail]) => {
  const { program, invited, find } = await open();
  const answer = await program.call("POST", USERS, body);
  const expected = {
    status: "400",
    scimType: "invalidValue",
    detail,
  };
  expect([answer.statusCode, answer.json()]).toEqual([
    400,
    { schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"], ...expected },
  ]);
  expect([await invited(), (await find("b@example.com")).totalResults]).toEqual([[], 0]);
});

test.for([
  ["GET", "?filter=userName%20co%20%22a%22", undefined, "invalidFilter"],
  ["GET", "?filter=a&filter=b", undefined, "invalidFilter"],
  ["GET", "?count=many", undefined, "invalidValue"],
  ["PATCH", "/ID", {}, "invalidValue"],
  ["PATCH", "/ID", { Operations: [{ op: "remove" }] }, "invalidValue"],
  ["PATCH", "/ID", { Operations: [{ op: "replace", value: true }] }, "invalidValue"],
  ["PATCH", "/ID", { Operations: [{ op: "move", path: "active" }] }, "invalidValue"],
] as const)("%s %s with %j is refused in SCIM's own form (S21, S56)", async ([method, path, body, scimType]) => {
  const { program, ann } = await open();
  const answer = await program.call(method, `${USERS}${path.replace("ID", ann.personId)}`, body);
  expect([answer.statusCode, answer.json()]).toMatchObject([400, { status: "400", scimType }]);
});

test("only tokens of owners are taken, and errors of the API have SCIM's form (S56)", async () => {
  const { guest, program, accountId, inAccount } = await open();
  const member = await inAccount(accountId, "member");
  for (const [client, status] of [
    [guest, "401"],
    [member, "403"],
  ] as const)
    expect((await client.get(USERS)).json()).toMatchObject({ schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"], status });
  expect((await program.get("/api/v1/scim/v2/Groups")).json()).toMatchObject({ status: "404" });
});

test("whoever cannot be invited does not become a user (S56)", async () => {
  const { program, find, database, accountId, ann } = await open();
  const invited = { accountId, personId: ann.personId, action: "member.invited", subject: "someone@example.com" } as const;
  for (let sent = 0; sent < ACCOUNT_BOUNDS.invitationsADay; sent += 1) await noteAction(database, invited);
  const answer = await program.call("POST", USERS, BOB);
  expect([answer.statusCode, (await find("bob@example.com")).totalResults]).toEqual([429, 0]);
});
