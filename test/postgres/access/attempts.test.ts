import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { lockSeconds } from "../../../ledger/sign-in/attempts.ts";
import { signUp } from "../../../ledger/people/persons.ts";
import { checkPassword, requestReset, resetPassword, signIn, type SignIn } from "../../../ledger/sign-in/sign-in.ts";
import { countRows } from "../../support/billing/ledger.ts";
import { createPerson, PASSWORD } from "../../support/dashboard/people.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const WRONG = "a different one altogether";
const RIGHT = { email: "ann@example.com", password: PASSWORD, address: "198.51.100.1" };
const errorForm = z.object({ code: z.string(), headers: z.record(z.string(), z.string()) });

async function openAnn() {
  const { database } = await postgres.migrated();
  const { person } = await createPerson(database, RIGHT.email);
  /** The result of each: "in", or the error's code. */
  const outcomes = (tries: SignIn[]) =>
    Promise.all(
      tries.map((each) =>
        signIn(database, each).then(
          () => "in",
          (error: unknown) => errorForm.parse(error).code,
        ),
      ),
    );
  return { database, person, outcomes };
}

test.for(["ann@example.com", "nobody@example.com"])(
  "of many concurrent guesses on %s from one network, at most eight check the password",
  async (email) => {
    const { outcomes } = await openAnn();
    const codes = await outcomes(
      Array.from({ length: 20 }, (_, index) => ({ email, password: WRONG, address: `192.0.2.${index}` })),
    );
    expect(codes.filter((code) => code === "permission_denied")).toHaveLength(8);
    expect(codes.filter((code) => code === "rate_limited")).toHaveLength(12);
  },
);

test("guesses lock only their own network: the right password is accepted from elsewhere, and refused from there", async () => {
  const { database, outcomes } = await openAnn();
  await outcomes(Array.from({ length: 8 }, () => ({ ...RIGHT, password: WRONG, address: "192.0.2.1" })));
  await expect(signIn(database, { ...RIGHT, address: "192.0.2.9" })).rejects.toMatchObject({
    code: "rate_limited",
    headers: { "retry-after": expect.stringMatching(/^[1-5]?\d$|^60$/) },
  });
  expect(await outcomes([RIGHT])).toEqual(["in"]);
});

test("forty guesses from many networks lock a person out of all browsers but those in which they signed in before", async () => {
  const { outcomes, person } = await openAnn();
  const codes: string[] = [];
  // Fewer at once than the queue of hashes takes.
  for (let network = 0; network < 45; network += 5) {
    const guesses = Array.from({ length: 5 }, (_, index) => ({
      ...RIGHT,
      password: WRONG,
      address: `192.0.${network + index}.1`,
    }));
    codes.push(...(await outcomes(guesses)));
  }
  expect(codes.filter((code) => code === "permission_denied")).toHaveLength(40);
  expect(await outcomes([RIGHT])).toEqual(["rate_limited"]);
  const stranger = { id: randomUUID(), personIds: [randomUUID()] };
  expect(await outcomes([{ ...RIGHT, browser: stranger }])).toEqual(["rate_limited"]);
  const known = { id: randomUUID(), personIds: [person.id] };
  expect(await outcomes([{ ...RIGHT, browser: known }])).toEqual(["in"]);
});

test("a browser in which someone signed in before has eight guesses, and locks no other one", async () => {
  const { outcomes, person } = await openAnn();
  const [one, other] = [randomUUID(), randomUUID()].map((id) => ({ id, personIds: [person.id] }));
  const codes = await outcomes(Array.from({ length: 10 }, () => ({ ...RIGHT, password: WRONG, browser: one })));
  expect(codes.filter((code) => code === "permission_denied")).toHaveLength(8);
  expect(await outcomes([{ ...RIGHT, browser: one }])).toEqual(["rate_limited"]);
  expect(await outcomes([{ ...RIGHT, browser: other }, RIGHT])).toEqual(["in", "in"]);
});

test.for([
  ["198.51.100.1", "198.51.100.1", "198.51.100.2"],
  ["2001:db8:1:2::1", "2001:db8:1:2:ffff::2", "2001:db8:1:3::1"],
] as const)("forty failures from %s lock %s for everyone, and not %s", async ([from, same, other]) => {
  const { database, outcomes } = await openAnn();
  for (let failure = 0; failure < 40; failure++)
    await expect(
      signIn(database, { email: `nobody-${failure}@example.com`, password: WRONG, address: from }),
    ).rejects.toMatchObject({ code: "permission_denied" });
  expect(await outcomes([{ ...RIGHT, address: same }])).toEqual(["rate_limited"]);
  expect(await outcomes([{ ...RIGHT, address: other }])).toEqual(["in"]);
});

test("a lock ends by itself, and a successful sign-in resets the count", async () => {
  const { database, outcomes } = await openAnn();
  await outcomes(Array.from({ length: 8 }, () => ({ ...RIGHT, password: WRONG })));
  await database.execute("UPDATE sign_in_failure SET at = at - interval '61 seconds'");
  expect(await outcomes([RIGHT])).toEqual(["in"]);
  const rows = await database.query({
    text: "SELECT DISTINCT subject FROM sign_in_failure ORDER BY 1",
    row: z.strictObject({ subject: z.string() }),
  });
  // The address and the network may be other people's, too.
  expect(rows.map(({ subject }) => subject)).toEqual(["address:198.51.100.1", "network:198.51.100.0/24"]);
});

test("a new password ends the locks everywhere", async () => {
  const { database, outcomes } = await openAnn();
  await outcomes(Array.from({ length: 8 }, () => ({ ...RIGHT, password: WRONG })));
  const reset = await requestReset(database, RIGHT.email);
  await resetPassword(database, reset?.token ?? "", "quite other words together");
  expect(await outcomes([{ ...RIGHT, password: "quite other words together" }])).toEqual(["in"]);
});

test("wrong passwords in one session lock only that session", async () => {
  const { database, person } = await openAnn();
  const check = (sessionId: string, password: string) => checkPassword(database, person.id, { password, sessionId });
  for (let guess = 0; guess < 8; guess++) await expect(check("one", WRONG)).rejects.toMatchObject({ field: "current" });
  await expect(check("one", PASSWORD)).rejects.toMatchObject({ code: "rate_limited" });
  await expect(check("other", PASSWORD)).resolves.toBeUndefined();
});

test("of many concurrent sign-ups from one address, forty hash a password; a typing error does not", async () => {
  const { database } = await postgres.migrated();
  const sign = (index: number, password: string) =>
    signUp(database, { email: `new-${index}@example.com`, name: "New", password, address: "192.0.2.1" }).then(
      () => "in",
      (error: unknown) => errorForm.parse(error).code,
    );
  expect(await Promise.all(Array.from({ length: 45 }, (_, index) => sign(index, "too short")))).toEqual(
    Array.from({ length: 45 }, () => "invalid_request"),
  );
  const codes = await Promise.all(Array.from({ length: 60 }, (_, index) => sign(index, PASSWORD)));
  expect(codes.filter((code) => code === "rate_limited")).toHaveLength(20);
  expect(codes.filter((code) => code === "in").length).toBeGreaterThan(10);
  // Attempts that arrive faster than passwords are hashed are asked to retry.
  expect(codes.filter((code) => !["in", "rate_limited", "overloaded"].includes(code))).toEqual([]);
  expect(await countRows(database, "person")).toBe(BigInt(codes.filter((code) => code === "in").length));
});

test("a lock lasts a minute, then twice as long each time, at most an hour", () => {
  expect([7, 8, 9, 10, 13, 14, 500].map((failures) => lockSeconds(failures, 8))).toEqual([0, 60, 120, 240, 1920, 3600, 3600]);
});
