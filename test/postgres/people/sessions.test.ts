import { expect, test } from "vitest";
import type { Queryable } from "../../../ledger/postgres/database.ts";
import { listActions, noteAction } from "../../../ledger/people/audit.ts";
import { endOtherSessions, endSession, findSession, listSessions, startSession } from "../../../ledger/sign-in/sessions.ts";
import { createPerson } from "../../support/dashboard/people.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();

test("each sign-in has a separate session, which is found only by its token", async () => {
  const { database } = await postgres.migrated();
  const { person, accountId } = await createPerson(database, "ann@example.com");
  const owner = { personId: person.id, accountId };
  const laptop = await startSession(database, { ...owner, userAgent: "laptop" });
  const phone = await startSession(database, { ...owner, userAgent: "p".repeat(500) });
  expect(new Set([laptop, phone]).size).toBe(2);
  expect(Buffer.from(laptop, "base64url")).toHaveLength(32);

  const found = await findSession(database, laptop);
  expect(found).toMatchObject({ ...owner, userAgent: "laptop" });
  expect((await findSession(database, phone))?.userAgent).toHaveLength(200);
  // The session's id on the page gives no access.
  expect(await findSession(database, found?.id ?? "")).toBeUndefined();
  expect(await findSession(database, "")).toBeUndefined();
});

test.for([
  ["last_seen_at = now() - interval '7 days 1 second'", false],
  ["last_seen_at = now() - interval '6 days 23 hours'", true],
  ["created_at = now() - interval '30 days 1 second'", false],
  ["created_at = now() - interval '29 days 23 hours'", true],
] as const)("a session with %s is valid: %s", async ([change, isInForce]) => {
  const { database } = await postgres.migrated();
  const { person, accountId } = await createPerson(database, "ann@example.com");
  const token = await startSession(database, { personId: person.id, accountId, userAgent: "browser" });
  await database.execute(`UPDATE session SET ${change}`);
  expect((await findSession(database, token)) !== undefined).toBe(isInForce);
  expect(await listSessions(database, person.id)).toHaveLength(isInForce ? 1 : 0);
});

test("a session is written to at most once a minute", async () => {
  const { database } = await postgres.migrated();
  const { person, accountId } = await createPerson(database, "ann@example.com");
  const token = await startSession(database, { personId: person.id, accountId, userAgent: "browser" });
  const seen = async (agoSeconds: number) => {
    await database.execute("UPDATE session SET last_seen_at = now() - $1 * interval '1 second'", [agoSeconds]);
    await findSession(database, token);
    return database.execute("SELECT FROM session WHERE last_seen_at > now() - interval '25 seconds'");
  };
  expect(await seen(30)).toBe(0);
  expect(await seen(70)).toBe(1);
});

test("a person ends their own sessions, one or all others, and nobody else's", async () => {
  const { database } = await postgres.migrated();
  const ann = await createPerson(database, "ann@example.com");
  const bob = await createPerson(database, "bob@example.com");
  const start = ({ person, accountId }: typeof ann, userAgent: string) =>
    startSession(database, { personId: person.id, accountId, userAgent });
  const [one, two, three, bobs] = [await start(ann, "1"), await start(ann, "2"), await start(ann, "3"), await start(bob, "b")];

  const bobsId = await idOf(database, bobs);
  expect(await endSession(database, { personId: ann.person.id, id: bobsId })).toBe(false);
  const oneSession = { personId: ann.person.id, id: await idOf(database, one) };
  expect(await endSession(database, oneSession)).toBe(true);
  expect(await endSession(database, oneSession)).toBe(false);
  await endOtherSessions(database, { personId: ann.person.id, id: await idOf(database, three) });
  expect((await listSessions(database, ann.person.id)).map(({ userAgent }) => userAgent)).toEqual(["3"]);
  expect(await findSession(database, two)).toBeUndefined();
  expect(await findSession(database, bobs)).toBeDefined();
});

test("actions are listed in pages, newest first, only for their account, and cannot be changed", async () => {
  const { database } = await postgres.migrated();
  const ann = await createPerson(database, "ann@example.com");
  const bob = await createPerson(database, "bob@example.com");
  const note = ({ person, accountId }: typeof ann, subject: string) =>
    noteAction(database, { accountId, personId: person.id, action: "key.created", subject });
  for (const subject of ["a", "b", "c"]) await note(ann, subject);
  await note(bob, "d");
  await noteAction(database, { accountId: ann.accountId, personId: null, action: "credit.granted", subject: "e" });

  const [newest, ...first] = await listActions(database, { accountId: ann.accountId, limit: 3 });
  expect(newest).toMatchObject({ by: null, action: "credit.granted", subject: "e" });
  expect(first.map(({ by, subject }) => [by, subject])).toEqual([
    ["ann@example.com", "c"],
    ["ann@example.com", "b"],
  ]);
  const beforeId = first.at(-1)?.id ?? "";
  const rest = await listActions(database, { accountId: ann.accountId, limit: 3, beforeId });
  expect(rest.map(({ subject }) => subject)).toEqual(["a"]);
  for (const change of ["UPDATE audit_entry SET subject = 'x'", "DELETE FROM audit_entry", "TRUNCATE audit_entry"])
    await expect(database.execute(change)).rejects.toThrow("is not allowed on audit_entry");
});

async function idOf(database: Queryable, token: string): Promise<string> {
  const session = await findSession(database, token);
  if (session === undefined) throw new Error("There is no such session.");
  return session.id;
}
