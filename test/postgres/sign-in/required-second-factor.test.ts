import { randomUUID } from "node:crypto";
import { TOTP } from "otpauth";
import { expect, test } from "vitest";
import { setAdmin } from "../../../ledger/people/admins.ts";
import { disableTotp, enableTotp, offerTotp } from "../../../ledger/sign-in/second-factor.ts";
import { openDashboard, type SignedIn, type TestDashboard } from "../../support/dashboard/dashboard.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { dataOf, fieldOf } from "../../support/dashboard/page-fields.ts";
import { PASSWORD } from "../../support/dashboard/people.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** A second factor that an account's owner, or the service itself, requires. */
const postgres = usePostgres();
const SETUP = "/dashboard/settings/second-factor";
const RULE = "/dashboard/members/second-factor";

async function open(options: Parameters<typeof openDashboard>[1] = {}) {
  const { database } = await postgres.migrated();
  const dashboard = await openDashboard(database, options);
  const ann = await dashboard.owner("ann@example.com");
  const bob = await dashboard.inAccount(ann.accountId, "member", "bob@example.com");
  return { ...dashboard, database, ann, bob };
}

/** Sets up an authenticator app through the pages. @returns codes of so many steps from now. */
async function setUp(person: SignedIn) {
  const page = (await person.get(SETUP)).body;
  const secret = /id="totp-secret"[^>]*>\s*<code>([A-Z2-7]+)/.exec(page)?.[1] ?? "";
  const code = (steps: number) => new TOTP({ secret }).generate({ timestamp: Date.now() + steps * 30_000 });
  const answer = await person.post(SETUP, { sealed: fieldOf(page, "sealed"), code: code(0) });
  expect(answer.statusCode).toBe(200);
  return code;
}

async function requireFactor({ ann, ...dashboard }: TestDashboard & { ann: SignedIn }) {
  const code = await setUp(ann);
  const answer = await ann.post(RULE, { required: "yes" });
  expect([answer.statusCode, answer.headers["location"]]).toEqual([303, "/dashboard/members"]);
  return { ...dashboard, code };
}

/** Of a member's pages and forms; the exceptions lead to a second factor, or away from the account. */
const OPEN = new Set([
  SETUP,
  "/dashboard/settings/passkeys/new",
  "/dashboard/confirm-identity",
  "/dashboard/confirm-identity/passkey",
  "/dashboard/confirm-email",
  "/dashboard/confirm-email/send",
  "/dashboard/accounts/:accountId/view",
  "/dashboard/sign-out",
]);

test("a member without a second factor is directed to set one up, from every page and form, and can do nothing else", async () => {
  const opened = await open();
  await requireFactor(opened);
  const { bob, routes } = opened;
  const guarded = routes.filter(
    ({ method, url }) => ["GET", "POST"].includes(method) && url.startsWith("/dashboard") && !OPEN.has(url) && !isPublic(url),
  );
  expect(guarded.length).toBeGreaterThan(50);
  for (const { method, url } of guarded) {
    const path = url.replaceAll(/:\w+/g, "x");
    const answer = method === "GET" ? await bob.get(path) : await bob.post(path);
    expect([answer.statusCode, answer.headers["location"]], `${method} ${url}`).toEqual(
      url.startsWith("/dashboard/admin") ? [404, undefined] : [303, SETUP],
    );
  }
  const api = await bob.call("GET", "/api/v1/keys");
  expect([api.statusCode, api.body.includes("This requires two-factor authentication")]).toEqual([403, true]);
  const page = await bob.get(SETUP);
  expect([page.statusCode, page.body.includes("requires two-factor authentication")]).toEqual([200, true]);
  await setUp(bob);
  expect((await bob.get("/dashboard/keys")).statusCode).toBe(200);
  expect((await bob.call("GET", "/api/v1/keys")).statusCode).toBe(200);
});

/** For everyone, signed in or not. */
function isPublic(url: string): boolean {
  return /^\/dashboard\/(assets|models|docs|clients|status|support|terms|sign-|forgot|reset|webhooks|oidc|invitation$|outbox)/.test(
    url,
  );
}

test("the rule applies to the account in view: the member's own account stays accessible, and so does the way to it", async () => {
  const opened = await open();
  await requireFactor(opened);
  const own = await opened.owner("carol@example.com");
  await opened.database.execute("INSERT INTO member (account_id, person_id, role) VALUES ($1, $2, 'viewer')", [
    opened.ann.accountId,
    own.personId,
  ]);
  const carol = await opened.signIn(own.personId, opened.ann.accountId);
  expect((await carol.get("/dashboard")).headers["location"]).toBe(SETUP);
  expect((await carol.post(`/dashboard/accounts/${own.accountId}/view`)).headers["location"]).toBe("/dashboard");
  expect((await carol.get("/dashboard")).statusCode).toBe(200);
});

test("only an owner with a second factor and a recent sign-in turns it on; it is logged, and can be turned off", async () => {
  const { ann, bob, database } = await open();
  expect((await bob.post(RULE, { required: "yes" })).statusCode).toBe(403);
  const without = await ann.post(RULE, { required: "yes" });
  expect([without.statusCode, without.body.includes("Set up your own two-factor authentication first")]).toEqual([400, true]);
  await setUp(ann);
  await database.execute("UPDATE session SET authenticated_at = now() - interval '1 hour'");
  expect((await ann.post(RULE, { required: "yes" })).headers["location"]).toContain("/dashboard/confirm-identity");
  await database.execute("UPDATE session SET authenticated_at = now()");
  await ann.post(RULE, { required: "yes" });
  expect((await bob.get("/dashboard")).statusCode).toBe(303);
  await ann.post(RULE, { required: "no" });
  expect((await bob.get("/dashboard")).statusCode).toBe(200);
  const log = (await ann.get("/dashboard/settings/log")).body;
  for (const action of ["account.second_factor_required", "account.second_factor_optional"]) expect(log).toContain(action);
});

test("someone who has a second factor but did not use it in this session is asked for it; removing it leads back to the set-up", async () => {
  const opened = await open();
  const { code } = await requireFactor(opened);
  const { ann, signIn } = opened;
  const other = await signIn(ann.personId, ann.accountId);
  expect((await other.get("/dashboard/keys")).headers["location"]).toBe("/dashboard/confirm-identity?next=%2Fdashboard%2Fkeys");
  expect(
    (await other.post("/dashboard/confirm-identity", { current: PASSWORD, code: code(1), next: "/dashboard/keys" })).statusCode,
  ).toBe(303);
  expect((await other.get("/dashboard/keys")).statusCode).toBe(200);
  await ann.post("/dashboard/settings/second-factor/off");
  for (const session of [ann, other]) expect((await session.get("/dashboard/keys")).headers["location"]).toBe(SETUP);
});

test("where a second factor is required, tokens of members without one stop working, until it is set up", async () => {
  const opened = await open();
  const { ann, bob, program, database } = opened;
  const token = await program(ann.accountId, bob.personId, "member");
  const read = async () => (await token.get("/api/v1/keys")).statusCode;
  expect(await read()).toBe(200);
  await requireFactor(opened);
  expect(await read()).toBe(401);
  expect((await ann.get("/dashboard/tokens")).body).toContain("lacks the two-factor authentication");
  await setUp(bob);
  expect(await read()).toBe(200);
  // Also one that was made in a session with a second factor ends with the factor.
  await database.execute("UPDATE management_token SET has_second_factor = true");
  await disableTotp(database, bob.personId);
  expect(await read()).toBe(401);
});

test("a password reset by email does not open an account that requires a second factor", async () => {
  const opened = await open();
  await requireFactor(opened);
  const { bob, guest } = opened;
  const step = await guest.post("/dashboard/sign-in", { email: "bob@example.com", password: PASSWORD });
  expect(step.statusCode).toBe(303);
  const again = await opened.signIn(bob.personId, bob.accountId);
  expect((await again.get("/dashboard/keys")).headers["location"]).toBe(SETUP);
  expect(dataOf((await again.get(SETUP)).body, "copy")).not.toBe("");
});

test("administrators of the service can do nothing without a second factor", async () => {
  const { ann, database } = await open({ adminSecondFactor: "required" });
  expect((await ann.get("/dashboard")).statusCode).toBe(200);
  await setAdmin(database, { email: "ann@example.com", isAdmin: true });
  for (const path of ["/dashboard", "/dashboard/admin", "/dashboard/admin/codes"])
    expect((await ann.get(path)).headers["location"], path).toBe(SETUP);
  expect(
    (await ann.post("/dashboard/admin/codes", { count: "1", amount: "1", uses: "1", reason: "x", attempt: randomUUID() }))
      .headers["location"],
  ).toBe(SETUP);
  await setUp(ann);
  expect((await ann.get("/dashboard/admin")).statusCode).toBe(200);
});

test("a second factor for administrators is required by default", async () => {
  const { ann, database } = await open({ adminSecondFactor: undefined });
  await setAdmin(database, { email: "ann@example.com", isAdmin: true });
  expect((await ann.get("/dashboard/admin")).headers["location"]).toBe(SETUP);
});

test("a code counts once for the set-up and the sign-in together", async () => {
  const { ann, database, guest } = await open();
  const { sealed, secret } = offerTotp({ personId: ann.personId, pepper: PEPPER, email: "ann@example.com" });
  const code = new TOTP({ secret }).generate();
  await enableTotp(database, { personId: ann.personId, pepper: PEPPER, sealed, code });
  const step = await guest.post("/dashboard/sign-in", { email: "ann@example.com", password: PASSWORD });
  const answer = await guest.post("/dashboard/sign-in/code", { note: fieldOf(step.body, "note"), code });
  expect(answer.statusCode).toBe(401);
});
