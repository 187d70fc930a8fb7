import type { FastifyInstance, LightMyRequestResponse } from "fastify";
import { expect, test } from "vitest";
import type { Letter } from "../../../dashboard/mail/letter.ts";
import { createPayments } from "../../../dashboard/payments/payments.ts";
import { listActions } from "../../../ledger/people/audit.ts";
import { listManagementTokens } from "../../../ledger/people/management-tokens.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { eventually } from "../../support/eventually.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { listAllKeys } from "../../support/dashboard/listed-keys.ts";
import { PASSWORD } from "../../support/dashboard/people.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Actions that need a recent sign-in, notifications of people, and taking over a stranger's sign-up. */
const postgres = usePostgres();
const ORIGIN = "http://gateway.example";
const NEXT_PASSWORD = "quite other words together";
const TOKEN = { name: "program", role: "viewer" };

async function open() {
  const { database } = await postgres.migrated();
  const letters: Letter[] = [];
  const mailer = { outbox: null, send: async (letter: Letter) => void letters.push(letter) };
  const payments = await createPayments({ provider: "test" }, { publicBaseUrl: "http://gateway.example", pepper: PEPPER });
  const dashboard = await openDashboard(database, { mailer, payments });
  const subjectsTo = (to: string) => letters.filter((letter) => letter.to === to).map(({ subject }) => subject);
  const prove = () => database.execute("UPDATE person SET email_verified_at = now()");
  return { ...dashboard, letters, subjectsTo, prove };
}

test("half an hour after signing in, tokens, cards and automatic top-up require the password again, and nothing else does", async () => {
  const { owner, database, prove } = await open();
  const ann = await owner("ann@example.com");
  await prove();
  await database.execute("UPDATE session SET authenticated_at = now() - interval '31 minutes'");
  const guarded = [
    ["/dashboard/tokens", TOKEN],
    ["/dashboard/credit/auto-top-up", { below: "5", charge: "20", monthly: "100" }],
    ["/dashboard/credit/auto-top-up/card", {}],
    ["/dashboard/credit/auto-top-up/card/remove", {}],
  ] as const;
  for (const [path, form] of guarded)
    expect((await ann.post(path, form)).headers["location"], path).toMatch(
      /^\/dashboard\/confirm-identity\?next=%2Fdashboard%2F/,
    );
  expect(await listManagementTokens(database, ann.accountId)).toEqual([]);
  expect((await ann.post("/dashboard/credit/auto-top-up/off")).headers["location"]).toBe("/dashboard/credit");
  expect((await ann.post("/dashboard/keys/new", { name: "key" })).statusCode).toBe(200);

  const confirm = (current: string) => ann.post("/dashboard/confirm-identity", { current, next: "/dashboard/tokens" });
  const wrong = await confirm(NEXT_PASSWORD);
  expect([wrong.statusCode, wrong.body.includes("This is not your password.")]).toEqual([400, true]);
  expect((await ann.post("/dashboard/tokens", TOKEN)).statusCode).toBe(303);
  expect((await confirm(PASSWORD)).headers["location"]).toBe("/dashboard/tokens");
  expect((await ann.post("/dashboard/tokens", TOKEN)).statusCode).toBe(200);
});

test("a session that is too old for the pages of webhooks and traces is too old for them in the API, where a token is enough", async () => {
  const { owner, program, database, signIn } = await open();
  const ann = await owner("ann@example.com");
  const events = ["key.created"];
  const url = "https://example.com/hook";
  const { id } = (await ann.call("POST", "/api/v1/webhooks", { url, events })).json();
  const otlp = { kind: "otlp", name: "mine", url: "https://example.com/" };
  const traces = (await ann.call("POST", "/api/v1/trace-destinations", otlp)).json();
  await database.execute("UPDATE session SET authenticated_at = now() - interval '31 minutes'");
  const guarded = [
    ["POST", "/api/v1/webhooks", { url, events }],
    ["PATCH", `/api/v1/webhooks/${id}`, { url: "https://example.org/hook" }],
    ["POST", `/api/v1/webhooks/${id}/rotate`, {}],
    ["PUT", "/api/v1/webhook", { url }],
    ["POST", "/api/v1/trace-destinations", otlp],
    ["PATCH", `/api/v1/trace-destinations/${traces.id}`, { include_content: true }],
  ] as const;
  for (const [method, path, body] of guarded) {
    const answer = await ann.call(method, path, body);
    expect([answer.statusCode, answer.json().error.message], `${method} ${path}`).toEqual([
      403,
      "This requires a recent sign-in. Do it in the dashboard, or send a management token.",
    ]);
  }
  // What stops something never waits.
  expect((await ann.call("PATCH", `/api/v1/webhooks/${id}`, { disabled: true })).statusCode).toBe(200);
  expect((await ann.call("PATCH", `/api/v1/trace-destinations/${traces.id}`, { disabled: true })).statusCode).toBe(200);
  expect((await ann.call("POST", "/api/v1/keys", { name: "key" })).statusCode).toBe(201);
  const fresh = await signIn(ann.personId, ann.accountId);
  const token = await program(ann.accountId, ann.personId, "owner");
  for (const caller of [fresh, token])
    for (const [method, path, body] of guarded)
      expect((await caller.call(method, path, body)).statusCode, `${method} ${path}`).toBeLessThan(300);
});

test("people who sign in only through a provider sign in again there", async () => {
  const { owner, database } = await open();
  const ann = await owner("ann@example.com");
  await database.execute("UPDATE person SET password_hash = NULL");
  const answer = await ann.post("/dashboard/confirm-identity", { next: "/dashboard/tokens" });
  expect(answer.headers["location"]).toBe("/dashboard/sign-in?next=%2Fdashboard%2Ftokens");
  expect((await ann.get("/dashboard")).statusCode).toBe(303);
});

test("people are notified of sign-ins from new browsers, new passwords, tokens, and members who join or leave (S24)", async () => {
  const { owner, inAccount, guest, app, prove, subjectsTo } = await open();
  const ann = await owner("ann@example.com");
  const bob = await inAccount(ann.accountId, "member", "bob@example.com");
  await prove();
  const first = await guest.post("/dashboard/sign-in", { email: "ann@example.com", password: PASSWORD });
  await eventually(() => expect(subjectsTo("ann@example.com")).toEqual(["New sign-in to Model Gateway"]));
  const browser = first.cookies.find(({ name }) => name === "browser");
  await app.inject({
    method: "POST",
    url: "/dashboard/sign-in",
    headers: {
      origin: "http://gateway.example",
      "content-type": "application/x-www-form-urlencoded",
      cookie: `browser=${browser?.value}`,
    },
    payload: new URLSearchParams({ email: "ann@example.com", password: PASSWORD }).toString(),
  });
  expect((await ann.post("/dashboard/tokens", TOKEN)).statusCode).toBe(200);
  await eventually(() => expect(subjectsTo("ann@example.com")).toHaveLength(2));
  expect(subjectsTo("ann@example.com")[1]).toContain("new management token");
  await ann.post(`/dashboard/members/${bob.personId}/remove`);
  await eventually(() => expect(subjectsTo("bob@example.com")).toEqual([expect.stringContaining("member removed")]));
  await eventually(() => expect(subjectsTo("ann@example.com")[2]).toContain("member removed"));
  await ann.post("/dashboard/settings/password", { current: PASSWORD, password: NEXT_PASSWORD });
  await eventually(() => expect(subjectsTo("ann@example.com")[3]).toContain("Model Gateway password was changed"));
});

test("owners are notified of somebody without an account who joins as they sign in, and their log has it", async () => {
  const { owner, guest, database, prove, letters, subjectsTo } = await open();
  const ann = await owner("ann@example.com");
  const bob = await owner("bob@example.com");
  await prove();
  await database.execute("DELETE FROM member WHERE person_id = $1", [bob.personId]);
  await ann.post("/dashboard/members/invite", { email: "bob@example.com", role: "member" });
  const link = await eventually(() => {
    const letter = letters.find(({ to }) => to === "bob@example.com");
    return new URL(/^https?:\S+$/m.exec(letter?.text ?? "")?.[0] ?? "");
  });
  const next = link.pathname + link.search;
  const joined = await guest.post("/dashboard/sign-in", { email: "bob@example.com", password: PASSWORD, next });
  expect(joined.headers["location"]).toBe(next);
  await eventually(() => expect(subjectsTo("ann@example.com")).toEqual([expect.stringContaining("new member")]));
  const [latest] = await listActions(database, { accountId: ann.accountId, limit: 1 });
  expect(latest).toMatchObject({ by: "bob@example.com", action: "member.joined" });
});

test("a person's security log contains their own actions, and nobody else's", async () => {
  const { owner, prove } = await open();
  const ann = await owner("ann@example.com");
  const bob = await owner("bob@example.com");
  await prove();
  await ann.post("/dashboard/settings/name", { name: "Ann" });
  await ann.post("/dashboard/tokens", TOKEN);
  const log = (await ann.get("/dashboard/settings/log")).body;
  expect([log.includes("person.renamed"), log.includes("token.created")]).toEqual([true, true]);
  expect((await bob.get("/dashboard/settings/log")).body).not.toContain("person.renamed");
});

async function openTaken() {
  const dashboard = await open();
  const { owner, program, guest, letters } = dashboard;
  const stranger = await owner("ann@example.com");
  await stranger.post("/dashboard/keys/new", { name: "the stranger's" });
  const token = await program(stranger.accountId, stranger.personId, "owner");
  await guest.post("/dashboard/forgot", { email: "ann@example.com" });
  const letter = await eventually(() => {
    const [found] = letters;
    if (found === undefined) throw new Error("no letter yet");
    return found;
  });
  const reset = new URL(/^https?:\S+$/m.exec(letter.text)?.[0] ?? "").searchParams.get("token") ?? "";
  const send = (more: Record<string, string>) =>
    guest.post("/dashboard/reset", { token: reset, password: NEXT_PASSWORD, ...more });
  const page = async () => (await guest.get(`/dashboard/reset?token=${reset}`)).body;
  const state = async () => ({
    keys: (await listAllKeys(dashboard.database, stranger)).length,
    token: (await token.get("/api/v1/account")).statusCode,
    session: (await stranger.get("/dashboard")).statusCode,
  });
  return { ...dashboard, send, page, state };
}

test("someone who takes over what a stranger created with their address is asked, and ends its sessions, keys and tokens", async () => {
  const { send, page, state } = await openTaken();
  expect(await page()).toContain("Did you create this account?");
  const unsaid = await send({});
  expect([unsaid.statusCode, unsaid.body.includes("Choose whether it was you who signed up.")]).toEqual([400, true]);
  expect(await state()).toEqual({ keys: 1, token: 200, session: 200 });
  expect((await send({ "signed-up": "stranger" })).statusCode).toBe(303);
  expect(await state()).toEqual({ keys: 0, token: 401, session: 303 });
});

test("people who signed up themselves keep keys and tokens; those who confirmed the address before are not asked", async () => {
  const own = await openTaken();
  expect((await own.send({ "signed-up": "me" })).statusCode).toBe(303);
  expect(await own.state()).toEqual({ keys: 1, token: 200, session: 303 });
  const proved = await openTaken();
  await proved.prove();
  expect(await proved.page()).not.toContain("Did you create this account");
  expect((await proved.send({})).statusCode).toBe(303);
  expect(await proved.state()).toEqual({ keys: 1, token: 200, session: 303 });
});

test("input typed when a session ended is shown only to the same person, whoever signs in on the browser next", async () => {
  const { app, database, owner } = await open();
  for (const email of ["ann@example.com", "bob@example.com"]) await owner(email);
  const typed = "merger with Globex";
  const afterSignIn = async (email: string) => {
    const browser = createJar(app);
    await browser.send("/dashboard/sign-in", { email: "ann@example.com", password: PASSWORD });
    await database.execute("DELETE FROM session");
    const refused = await browser.send("/dashboard/keys/new", { name: typed });
    expect(refused.headers.location).toContain("/dashboard/sign-in?next=");
    expect([...browser.cookies.keys()]).toContain("draft");
    await browser.send("/dashboard/sign-in", { email, password: PASSWORD });
    return (await browser.get("/dashboard/keys/new")).body;
  };
  expect(await afterSignIn("ann@example.com")).toContain(typed);
  const seen = await afterSignIn("bob@example.com");
  expect(seen).toContain("Create key");
  expect(seen).not.toContain(typed);
});

test("input that is too late for an old session is shown again after a recent sign-in, without secrets", async () => {
  const { app, database, owner } = await open();
  await owner("ann@example.com");
  const browser = createJar(app);
  await browser.send("/dashboard/sign-in", { email: "ann@example.com", password: PASSWORD });
  const page = "/dashboard/trace-destinations";
  const tokenOf = (body: string) => /name="form_token"\s+value="([^"]+)"/.exec(body)?.[1] ?? "";
  const form_token = tokenOf((await browser.get(page)).body);
  await database.execute("UPDATE session SET authenticated_at = now() - interval '31 minutes'");
  const form = { form_token, kind: "otlp", name: "our collector", url: "https://otlp.example", secret_headers: "a: hidden" };
  const late = await browser.send(page, form);
  const next = encodeURIComponent(page);
  expect(late.headers.location).toBe(`/dashboard/confirm-identity?next=${next}`);
  const asked = await browser.get(`/dashboard/confirm-identity?next=${next}`);
  expect(asked.body).not.toContain("our collector");
  await browser.send("/dashboard/confirm-identity", { form_token: tokenOf(asked.body), current: PASSWORD, next: page });
  const { body } = await browser.get(page);
  expect([body.includes("our collector"), body.includes("a: hidden")]).toEqual([true, false]);
  expect((await browser.get(page)).body).not.toContain("our collector");
});

/** A browser that keeps its cookies. */
function createJar(app: FastifyInstance) {
  const cookies = new Map<string, string>();
  const headers = () => ({ cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "), origin: ORIGIN });
  const keep = (answer: LightMyRequestResponse) => {
    for (const { name, value } of answer.cookies) cookies.set(name, value);
    return answer;
  };
  return {
    cookies,
    get: async (url: string) => keep(await app.inject({ url, headers: headers() })),
    send: async (url: string, form: Readonly<Record<string, string>>) =>
      keep(
        await app.inject({
          method: "POST",
          url,
          headers: { ...headers(), referer: ORIGIN + url, "content-type": "application/x-www-form-urlencoded" },
          payload: new URLSearchParams(form).toString(),
        }),
      ),
  };
}

test("an expired emailed link says so when it is opened, and where to get another", async () => {
  const { owner, guest } = await open();
  const ann = await owner("ann@example.com");
  const cases = [
    [guest, "/dashboard/reset?token=none", "/dashboard/forgot"],
    [guest, "/dashboard/sign-up?proof=none", "/dashboard/sign-up"],
    [guest, "/dashboard/invitation?token=none", "/dashboard/sign-in"],
    [ann, "/dashboard/settings/email/confirm?token=none", "/dashboard/settings/email"],
    [ann, "/dashboard/confirm-email?token=none", "/dashboard"],
  ] as const;
  for (const [who, link, renewal] of cases) {
    const { statusCode, body } = await who.get(link);
    expect([statusCode, body.includes("<h1>This link no longer works</h1>")], link).toEqual([404, true]);
    expect(body, link).toContain(`class="button primary" href="${renewal}"`);
  }
});
