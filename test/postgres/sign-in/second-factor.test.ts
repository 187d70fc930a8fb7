import { TOTP } from "otpauth";
import { expect, test } from "vitest";
import * as z from "zod";
import { createOutbox } from "../../../dashboard/mail/outbox.ts";
import { seal, unseal } from "../../../ledger/people/sealed.ts";
import { checkSecondFactor, enableTotp, offerTotp } from "../../../ledger/sign-in/second-factor.ts";
import { openDashboard, type Client } from "../../support/dashboard/dashboard.ts";
import { countRows, PEPPER } from "../../support/billing/ledger.ts";
import { PASSWORD } from "../../support/dashboard/people.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const EMAIL = "ann@example.com";
const NEXT_PASSWORD = "quite other words together";

/** Ann, who has turned the second factor on. */
async function openAnn() {
  const { database } = await postgres.migrated();
  const mailer = createOutbox();
  const dashboard = await openDashboard(database, { mailer });
  const ann = await dashboard.owner(EMAIL);
  const { sealed, secret } = offerTotp({ personId: ann.personId, pepper: PEPPER, email: EMAIL });
  /** Of so many steps from now: each counts once. That of a step ago may expire on its way. */
  const code = (steps: number) => new TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 });
  const codes = (await enableTotp(database, { personId: ann.personId, pepper: PEPPER, sealed, code: code(0) })) ?? [];
  const check = (text: string) => checkSecondFactor(database, { personId: ann.personId, pepper: PEPPER, code: text });
  return { ...dashboard, database, mailer, ann, secret, code, codes, check };
}

const noteIn = (page: string) => /name="note"\s+value="([^"]+)"/.exec(page)?.[1] ?? "";
const password = (guest: Client) =>
  guest.post("/dashboard/sign-in", { email: EMAIL, password: PASSWORD, next: "/dashboard/keys" });

test("with a second factor the password alone opens nothing, and a code signs in, once (S48)", async () => {
  const { guest, code } = await openAnn();
  const first = await password(guest);
  expect([first.statusCode, first.cookies, first.body.includes("Enter your code")]).toEqual([200, [], true]);
  const note = noteIn(first.body);
  const send = (text: string) => guest.post("/dashboard/sign-in/code", { note, code: text });
  expect((await send("000000")).statusCode).toBe(401);
  const now = code(1);
  const signedIn = await send(now);
  expect([signedIn.statusCode, signedIn.headers["location"]]).toEqual([303, "/dashboard/keys"]);
  expect(signedIn.cookies.map(({ name }) => name)).toContain("session");
  const again = await send(now);
  expect([again.statusCode, again.cookies]).toEqual([401, []]);
  expect((await guest.post("/dashboard/sign-in/code", { note: `${note}x`, code: code(1) })).statusCode).toBe(400);
});

test("each recovery code works once, however it is written", async () => {
  const { codes, check } = await openAnn();
  expect(codes).toHaveLength(10);
  expect(new Set(codes).size).toBe(10);
  const [first = "", second = ""] = codes;
  await check(first.toUpperCase().replaceAll("-", " "));
  await expect(check(first)).rejects.toMatchObject({ code: "permission_denied", field: "code" });
  await check(second);
});

test("of many concurrent guesses eight are checked", async () => {
  const { check, code } = await openAnn();
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      check(`wrong ${index}`).then(
        () => "in",
        (error: unknown) => z.object({ code: z.string() }).parse(error).code,
      ),
    ),
  );
  expect(outcomes.filter((outcome) => outcome === "permission_denied")).toHaveLength(8);
  expect(outcomes.filter((outcome) => outcome === "rate_limited")).toHaveLength(12);
  await expect(check(code(1))).rejects.toMatchObject({ code: "rate_limited" });
});

test("a password reset by email does not bypass the second factor", async () => {
  const { guest, mailer, check, codes } = await openAnn();
  await guest.post("/dashboard/forgot", { email: EMAIL });
  await expect.poll(() => mailer.outbox?.letters).toHaveLength(1);
  const token = /token=(\S+)/.exec(mailer.outbox?.letters[0]?.letter.text ?? "")?.[1] ?? "";
  // Nobody has proved this address yet, so the page asks.
  const reset = await guest.post("/dashboard/reset", { token, password: NEXT_PASSWORD, "signed-up": "me" });
  expect([reset.statusCode, reset.cookies]).toEqual([303, []]);
  const step = await guest.post("/dashboard/sign-in", { email: EMAIL, password: NEXT_PASSWORD });
  expect([step.cookies, step.body.includes("Enter your code")]).toEqual([[], true]);
  await check(codes[0] ?? "");
});

test("a second factor set up by a stranger who signed up with the address is removed with the rest of their data", async () => {
  const { guest, mailer, database } = await openAnn();
  await guest.post("/dashboard/forgot", { email: EMAIL });
  await expect.poll(() => mailer.outbox?.letters).toHaveLength(1);
  const token = /token=(\S+)/.exec(mailer.outbox?.letters[0]?.letter.text ?? "")?.[1] ?? "";
  const reset = await guest.post("/dashboard/reset", { token, password: NEXT_PASSWORD, "signed-up": "stranger" });
  expect(reset.cookies.map(({ name }) => name)).toContain("session");
  expect(await countRows(database, "person_totp")).toBe(0n);
  expect(await countRows(database, "recovery_code")).toBe(0n);
});

test("new recovery codes require confirmation, and replace the remaining ones", async () => {
  const { ann: careless, signIn, codes, check } = await openAnn();
  const ann = await signIn(careless.personId, careless.accountId, true);
  const path = "/dashboard/settings/second-factor/recovery-codes";
  expect((await ann.get(path)).body).toContain("The 10 codes that you have left will no longer work.");
  const made = (await ann.post(path)).body;
  expect(made).toContain("Save these codes now");
  await expect(check(codes[0] ?? "")).rejects.toMatchObject({ code: "permission_denied" });
  const [fresh = ""] = /[0-9a-f]{4}(?:-[0-9a-f]{4}){3}/.exec(made) ?? [];
  await check(fresh);
});

test("no app secret and no recovery code can be read from the database; a secret belongs to one person", async () => {
  const { database, secret, codes } = await openAnn();
  for (const table of ["person_totp", "recovery_code"]) {
    const rows = await database.query({
      text: `SELECT ${table}::text AS row FROM ${table}`,
      row: z.strictObject({ row: z.string() }),
    });
    const text = rows.map(({ row }) => row).join("\n");
    for (const hidden of [secret, ...codes]) {
      expect(text).not.toContain(hidden);
      expect(text).not.toContain(Buffer.from(hidden).toString("hex"));
    }
  }
  const sealed = seal("a secret", { pepper: PEPPER, about: "ann" });
  expect(unseal(sealed, { pepper: PEPPER, about: "ann" })).toBe("a secret");
  expect(unseal(sealed, { pepper: PEPPER, about: "bob" })).toBeUndefined();
  expect(unseal(sealed, { pepper: Buffer.alloc(32), about: "ann" })).toBeUndefined();
  expect(unseal(Buffer.from("short"), { pepper: PEPPER, about: "ann" })).toBeUndefined();
});

test("turning it off requires a recent sign-in with a code, is reported by email, and the password is enough again", async () => {
  const { ann, database, guest, mailer, code } = await openAnn();
  await database.execute("UPDATE session SET authenticated_at = now() - interval '1 hour'");
  const off = () => ann.post("/dashboard/settings/second-factor/off");
  expect((await off()).headers["location"]).toContain("/dashboard/confirm-identity");
  const confirm = (text: string) =>
    ann.post("/dashboard/confirm-identity", { current: PASSWORD, code: text, next: "/dashboard/settings" });
  expect((await confirm("")).statusCode).toBe(400);
  expect((await off()).headers["location"]).toContain("/dashboard/confirm-identity");
  expect((await confirm(code(1))).statusCode).toBe(303);
  expect((await off()).statusCode).toBe(303);
  await expect
    .poll(() => mailer.outbox?.letters.map(({ letter }) => letter.subject))
    .toEqual(["An authenticator app was removed from your Model Gateway account"]);
  expect((await password(guest)).headers["location"]).toBe("/dashboard/keys");
});
