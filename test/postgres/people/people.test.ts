import { hash } from "@node-rs/argon2";
import { expect, test } from "vitest";
import * as z from "zod";
import { findAccount, readBalance } from "../../../ledger/accounts/accounts.ts";
import type { Queryable } from "../../../ledger/postgres/database.ts";
import { dropExpired } from "../../../ledger/people/expired.ts";
import { listMemberships } from "../../../ledger/people/members.ts";
import { signUp } from "../../../ledger/people/persons.ts";
import { findSession, startSession } from "../../../ledger/sign-in/sessions.ts";
import { checkPassword, requestReset, resetPassword, signIn } from "../../../ledger/sign-in/sign-in.ts";
import { expectToWait } from "../../support/billing/held-rows.ts";
import { eventually } from "../../support/eventually.ts";
import { countRows } from "../../support/billing/ledger.ts";
import { createPerson, PASSWORD } from "../../support/dashboard/people.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const NEXT_PASSWORD = "a different one altogether";
const address = "192.0.2.1";

test("a person who signs up owns a new, empty account (S24)", async () => {
  const { database } = await postgres.migrated();
  const { person, accountId } = await signUp(database, {
    email: " Ann@Example.com ",
    name: "Ann Ørsted & Co",
    password: PASSWORD,
  });
  expect(person).toMatchObject({ email: "Ann@Example.com", name: "Ann Ørsted & Co", isAdmin: false });
  expect(accountId).toMatch(/^ann-rsted-co-[0-9a-f]{8}$/);
  expect(await findAccount(database, accountId)).toMatchObject({ name: "Ann Ørsted & Co", status: "active" });
  expect((await readBalance(database, accountId)).postedNanoUsd).toBe(0n);
  expect(await listMemberships(database, person.id)).toEqual([
    { accountId, accountName: "Ann Ørsted & Co", role: "owner", isSuspended: false, requiresSecondFactor: false },
  ]);
});

test.for([
  [{ email: "no address" }, "email"],
  [{ email: `${"a".repeat(250)}@example.com` }, "email"],
  [{ name: "   " }, "name"],
  [{ name: "n".repeat(101) }, "name"],
  [{ name: "Pay at https://evil.example" }, "name"],
  [{ name: "Ann\nYour card was declined" }, "name"],
  [{ password: "too short" }, "password"],
  [{ password: "password12" }, "password"],
  [{ email: "ann.lovelace@example.com", password: "ann.lovelace" }, "password"],
  [{ password: "x".repeat(201) }, "password"],
] as const)("a sign-up with %j is rejected and changes nothing", async ([change, field]) => {
  const { database } = await postgres.migrated();
  const person = { email: "ann@example.com", name: "Ann", password: PASSWORD };
  await expect(signUp(database, { ...person, ...change })).rejects.toMatchObject({ code: "invalid_request", field });
  expect(await countRows(database, "person")).toBe(0n);
  expect(await countRows(database, "account")).toBe(0n);
});

test("of two concurrent sign-ups with one address, in any case, one creates a person and an account", async () => {
  const { database } = await postgres.migrated();
  const results = await Promise.allSettled(
    ["ann@example.com", "ANN@example.com", "Ann@Example.COM"].map((email) => createPerson(database, email)),
  );
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const refused of results.filter((result) => result.status === "rejected"))
    expect(refused.reason).toMatchObject({ code: "invalid_request", field: "email" });
  expect(await countRows(database, "account")).toBe(1n);
});

test("the right password signs in, and a wrong one gets the same message as an unknown address", async () => {
  const { database } = await postgres.migrated();
  const { person } = await createPerson(database, "ann@example.com");
  expect(await signIn(database, { email: " ANN@example.com", password: PASSWORD, address })).toEqual(person);
  const wrong = await refusal(signIn(database, { email: "ann@example.com", password: NEXT_PASSWORD, address }));
  const unknown = await refusal(signIn(database, { email: "bob@example.com", password: NEXT_PASSWORD, address }));
  expect(wrong).toMatchObject({ code: "permission_denied" });
  expect(unknown).toEqual(wrong);
  const sessionId = "a session";
  await expect(checkPassword(database, person.id, { password: NEXT_PASSWORD, sessionId })).rejects.toMatchObject({
    field: "current",
  });
  await checkPassword(database, person.id, { password: PASSWORD, sessionId });
});

test("a reset sets the password once, ends every session and every lock", async () => {
  const { database } = await postgres.migrated();
  const { person, accountId } = await createPerson(database, "ann@example.com");
  const session = await startSession(database, { personId: person.id, accountId, userAgent: "browser" });
  await database.execute("INSERT INTO sign_in_failure (subject) SELECT 'email:ann@example.com' FROM generate_series(1, 20)");
  const first = await requestedToken(database, "ann@example.com");
  const second = await requestedToken(database, "Ann@example.com");

  await expect(resetPassword(database, first, "short")).rejects.toMatchObject({ field: "password" });
  const used = await Promise.allSettled([1, 2, 3].map(() => resetPassword(database, first, NEXT_PASSWORD)));
  expect(used.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  await expect(resetPassword(database, second, PASSWORD)).rejects.toMatchObject({ code: "not_found" });
  expect(await findSession(database, session)).toBeUndefined();
  await expect(signIn(database, { email: person.email, password: PASSWORD, address })).rejects.toMatchObject({
    code: "permission_denied",
  });
  expect(await signIn(database, { email: person.email, password: NEXT_PASSWORD, address })).toEqual({
    ...person,
    isEmailVerified: true,
  });
});

test("a reset link is valid for an hour, for known addresses, five times per hour", async () => {
  const { database } = await postgres.migrated();
  await createPerson(database, "ann@example.com");
  expect(await requestReset(database, "nobody@example.com")).toBeUndefined();
  const token = await requestedToken(database, "ann@example.com");
  for (let more = 1; more < 5; more++) await requestedToken(database, "ann@example.com");
  expect(await requestReset(database, "ann@example.com")).toBeUndefined();
  await database.execute("UPDATE password_reset SET expires_at = expires_at - interval '1 hour'");
  await expect(resetPassword(database, token, NEXT_PASSWORD)).rejects.toMatchObject({ code: "not_found" });
  await requestedToken(database, "ann@example.com");
});

test("no reset link is made for an address that its person is just giving up", async () => {
  const { database } = await postgres.migrated();
  const { person } = await createPerson(database, "ann@example.com");
  const requested = await database.transaction(async (transaction) => {
    await transaction.execute("UPDATE person SET email = 'ann@example.org' WHERE id = $1", [person.id]);
    const waiting = requestReset(database, "ann@example.com");
    await eventually(() => expectToWait(database, 1));
    return { waiting };
  });
  expect(await requested.waiting).toBeUndefined();
  expect(await countRows(database, "password_reset")).toBe(0n);
});

test("a password hashed with other parameters is rehashed at the next sign-in, and still works", async () => {
  const { database } = await postgres.migrated();
  const { person } = await createPerson(database, "ann@example.com");
  const weak = await hash(PASSWORD, { memoryCost: 8192, timeCost: 1, parallelism: 1 });
  await database.execute("UPDATE person SET password_hash = $1", [weak]);
  await signIn(database, { email: person.email, password: PASSWORD, address });
  const stored = await storedHash(database);
  expect(stored).toMatch(/^\$argon2id\$v=19\$m=47104,t=1,p=1\$/);
  await signIn(database, { email: person.email, password: PASSWORD, address });
  expect(await storedHash(database)).toBe(stored);
});

test("no password and no token can be read from the database", async () => {
  const { database } = await postgres.migrated();
  const { person, accountId } = await createPerson(database, "ann@example.com");
  const session = await startSession(database, { personId: person.id, accountId, userAgent: "browser" });
  const reset = await requestedToken(database, person.email);
  for (const table of ["person", "session", "password_reset"]) {
    const rows = await database.query({
      text: `SELECT ${table}::text AS row FROM ${table}`,
      row: z.strictObject({ row: z.string() }),
    });
    expect(rows).toHaveLength(1);
    for (const secret of [PASSWORD, session, reset]) {
      expect(rows[0]?.row).not.toContain(secret);
      expect(rows[0]?.row).not.toContain(Buffer.from(secret, "base64url").toString("hex"));
    }
  }
});

test("expired rows are dropped, and nothing else", async () => {
  const { database } = await postgres.migrated();
  const { person, accountId } = await createPerson(database, "ann@example.com");
  const start = () => startSession(database, { personId: person.id, accountId, userAgent: "browser" });
  await start();
  await requestedToken(database, person.email);
  await database.execute("UPDATE session SET last_seen_at = now() - interval '8 days'");
  await database.execute("UPDATE password_reset SET expires_at = now() - interval '1 second'");
  await database.execute("INSERT INTO sign_in_failure VALUES ('email:a', now() - interval '25 hours'), ('email:a', now())");
  await start();
  await requestedToken(database, person.email);
  await dropExpired(database);
  for (const table of ["session", "password_reset", "sign_in_failure"] as const)
    expect(await countRows(database, table)).toBe(1n);
});

async function requestedToken(database: Queryable, email: string): Promise<string> {
  const requested = await requestReset(database, email);
  if (requested === undefined) throw new Error("No reset was made.");
  return requested.token;
}

/** The error of a call that must fail. */
async function refusal(call: Promise<unknown>) {
  const error: unknown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  const { code, message } = z.object({ code: z.string(), message: z.string() }).parse(error);
  return { code, message };
}

async function storedHash(database: Queryable): Promise<string | undefined> {
  const rows = await database.query({
    text: "SELECT password_hash AS hash FROM person",
    row: z.strictObject({ hash: z.string() }),
  });
  return rows[0]?.hash;
}
