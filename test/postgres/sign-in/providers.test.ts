import { expect, test } from "vitest";
import { createOutbox } from "../../../dashboard/mail/outbox.ts";
import { providerConfigs, type ProviderId } from "../../../dashboard/oidc/config.ts";
import { callbackPath, startPath } from "../../../dashboard/oidc/paths.ts";
import { PROVIDER_DOMAIN_VARIABLES, providerDomains } from "../../../dashboard/oidc/provider-domains.ts";
import { createProvider } from "../../../dashboard/oidc/create-provider.ts";
import { createPasskeys } from "../../../dashboard/passkeys/passkeys.ts";
import { setSecondFactorRule } from "../../../ledger/sign-in/second-factor-rule.ts";
import { findPersonByEmail } from "../../../ledger/people/persons.ts";
import { createAuthenticator } from "../../support/dashboard/authenticator.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { startGithub, type GithubUser } from "../../support/servers/github-server.ts";
import { listAllKeys } from "../../support/dashboard/listed-keys.ts";
import { startOidcProvider, type ProviderUser } from "../../support/servers/oidc-provider.ts";
import { dataOf, fieldOf } from "../../support/dashboard/page-fields.ts";
import { PASSWORD } from "../../support/dashboard/people.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Several services to sign in at, side by side, and domains that sign in at one alone. */
const postgres = usePostgres();
const publicBaseUrl = "https://gateway.example";
const at = (id: ProviderId) => ({ redirectUri: `${publicBaseUrl}${callbackPath(id)}` });
const ANN: ProviderUser = { sub: "ann-1", email: "ann@example.com", email_verified: true, name: "Ann" };
const OCTO: GithubUser = {
  id: 583231,
  login: "octo",
  name: "Octo Cat",
  emails: [
    { email: "other@example.org", primary: false, verified: true },
    { email: "octo@example.org", primary: true, verified: true },
  ],
};

async function open({ domains = "", hasSecondFactor = false }: { domains?: string; hasSecondFactor?: boolean } = {}) {
  const { database } = await postgres.migrated();
  const servers = {
    oidc: await startOidcProvider(at("oidc")),
    google: await startOidcProvider(at("google")),
    github: await startGithub(at("github")),
  };
  const { clientId, clientSecret, url } = servers.github;
  const configs = [
    { ...servers.oidc, id: "oidc", name: "Acme", hasSecondFactor, hasAuthTime: true },
    { ...servers.google, id: "google", name: "Google", hasSecondFactor: false, hasAuthTime: false },
    { clientId, clientSecret, url, id: "github", name: "GitHub" },
  ] as const;
  const passkeys = createPasskeys({ id: "gateway.example", origin: publicBaseUrl }, { database, pepper: PEPPER });
  const mailer = createOutbox();
  const dashboard = await openDashboard(database, {
    publicBaseUrl,
    providers: configs.map((config) => createProvider(config, { publicBaseUrl })),
    providerDomains: providerDomains({ PROVIDER_DOMAINS: domains }, configs),
    passkeys,
    mailer,
  });

  async function leave(id: ProviderId, next = "/dashboard") {
    const headers = { "sec-fetch-site": "same-origin" };
    const start = await dashboard.guest.get(`${startPath(id)}?next=${encodeURIComponent(next)}`, { headers });
    const cookie = /__Host-oidc=[^;]+/.exec(String(start.headers["set-cookie"]))?.[0] ?? "";
    return { cookie, location: String(start.headers["location"]) };
  }

  async function signIn(id: ProviderId, next?: string) {
    const { cookie, location } = await leave(id, next);
    const back = await servers[id].follow(location);
    const answer = await dashboard.client({ cookie }).get(back.pathname + back.search);
    const session = /__Host-session=[^;]+/.exec(String(answer.headers["set-cookie"]))?.[0];
    return { answer, cookie, back, session, status: answer.statusCode };
  }
  return { ...dashboard, ...servers, database, mailer, leave, signIn };
}

test("each provider has its button, and GitHub users are identified by their number (S48)", async () => {
  const { guest, github, signIn, database, client } = await open();
  const page = (await guest.get("/dashboard/sign-in")).body;
  for (const name of ["Acme", "Google", "GitHub"]) expect(page).toContain(`Sign in with ${name}`);
  github.user = OCTO;
  const first = await signIn("github", "/dashboard/keys");
  expect([first.status, first.answer.headers["location"]]).toEqual([303, "/dashboard/keys"]);
  expect((await client({ cookie: first.session ?? "" }).get("/dashboard/settings")).body).toContain("Octo Cat");
  const octo = await findPersonByEmail(database, "octo@example.org");
  expect(octo).toMatchObject({ isEmailVerified: true, hasPassword: false });
  // The login and the address now belong to another person.
  github.user = { ...OCTO, id: 42 };
  expect((await signIn("github")).session).toBeUndefined();
  github.user = { ...OCTO, login: "renamed", emails: [] };
  expect((await signIn("github")).status).toBe(303);
});

test.for([
  ["not verified", [{ email: "ann@example.com", primary: true, verified: false }]],
  ["not the primary one", [{ email: "ann@example.com", primary: false, verified: true }]],
  ["not there", []],
] as const)("an address at GitHub that is %s links nobody", async ([, emails]) => {
  const { github, signIn, owner, database } = await open();
  await owner("ann@example.com");
  await database.execute("UPDATE person SET email_verified_at = now()");
  github.user = { ...OCTO, emails: [...emails] };
  const { status, session, answer } = await signIn("github");
  expect([status, session]).toEqual([403, undefined]);
  expect(answer.body).toContain("GitHub has not verified your email address");
});

test("GitHub's errors are reported with the remedy, and its answers are bounded in size", async () => {
  const { github, signIn, leave, client, logged } = await open();
  expect((await signIn("github")).answer.body).toContain("GitHub did not sign you in");
  github.user = OCTO;
  for (const api of ["fails", "floods"] as const) {
    github.api = api;
    const { status, answer } = await signIn("github");
    expect([status, answer.body.includes("Sign-in with GitHub is unavailable right now")], api).toEqual([503, true]);
  }
  github.api = "works";
  const { cookie, back } = await signIn("github");
  const replayed = await client({ cookie }).get(back.pathname + back.search);
  expect([replayed.statusCode, replayed.body.includes("already used")]).toEqual([400, true]);
  // A code that another browser was given, with one's own state.
  const [mine, other] = [await leave("github"), await leave("github")];
  const stolen = await github.follow(other.location);
  stolen.searchParams.set("state", new URL(mine.location).searchParams.get("state") ?? "");
  expect((await client({ cookie: mine.cookie }).get(stolen.pathname + stolen.search)).statusCode).toBe(400);
  expect(logged()).not.toContain("gho_");
});

test("an answer of one provider is not accepted for another, in whichever order they are mixed up", async () => {
  const { oidc, google, github, leave, client } = await open();
  [oidc.user, google.user, github.user] = [ANN, { ...ANN, sub: "evil" }, OCTO];
  const servers = { oidc, google, github };
  for (const [from, to] of [
    ["oidc", "google"],
    ["google", "oidc"],
    ["github", "oidc"],
    ["oidc", "github"],
  ] as const) {
    const { cookie, location } = await leave(from);
    const back = await servers[from].follow(location);
    const crossed = await client({ cookie }).get(callbackPath(to) + back.search);
    expect([crossed.statusCode, crossed.body.includes("does not match the sign-in")], `${from} ${to}`).toEqual([400, true]);
  }
  // Begun at one, and answered with what another gave, state and all.
  const [begun, given] = [await leave("oidc"), await leave("google")];
  const back = await google.follow(given.location);
  back.searchParams.set("state", new URL(begun.location).searchParams.get("state") ?? "");
  const mixed = await client({ cookie: begun.cookie }).get(callbackPath("oidc") + back.search);
  expect([mixed.statusCode >= 400, String(mixed.headers["set-cookie"]).includes("session=")]).toEqual([true, false]);
});

test("one person signs in through several providers that verified their address, and nobody through one that did not", async () => {
  const { oidc, google, signIn, database } = await open();
  [oidc.user, google.user] = [ANN, { ...ANN, sub: "g-1", email_verified: false }];
  expect((await signIn("oidc")).status).toBe(303);
  expect((await signIn("google")).session).toBeUndefined();
  google.user = { ...ANN, sub: "g-1" };
  expect((await signIn("google")).session).toBeDefined();
  expect(await database.execute("SELECT FROM person_identity")).toBe(2);
  expect(await database.execute("SELECT FROM person")).toBe(1);
});

test("addresses of a bound domain sign in only through their provider: no password, reset, sign-up, passkey or other provider", async () => {
  const { guest, oidc, google, github, signIn, mailer, database } = await open({ domains: "Example.com=oidc" });
  oidc.user = ANN;
  expect((await signIn("oidc")).session).toBeDefined();
  const forms = [
    ["/dashboard/sign-in", { email: "ann@EXAMPLE.com", password: PASSWORD }],
    ["/dashboard/sign-in", { email: "nobody@example.com", password: PASSWORD }],
    ["/dashboard/forgot", { email: "ann@example.com" }],
    ["/dashboard/sign-up", { email: "new@example.com", name: "New", password: PASSWORD }],
  ] as const;
  const pages = [];
  for (const [path, form] of forms) {
    const answer = await guest.post(path, form);
    expect([answer.statusCode, answer.body.includes("Sign in with Acme"), answer.body.includes("/dashboard/oidc/start")]).toEqual(
      [200, true, true],
    );
    pages.push(answer.body);
  }
  // Nothing reveals whether the address has an account.
  expect(pages[0]).toBe(pages[1]);
  expect(mailer.outbox?.letters).toEqual([]);
  [google.user, github.user] = [
    { ...ANN, sub: "g-1" },
    { ...OCTO, emails: [{ email: "ann@example.com", primary: true, verified: true }] },
  ];
  for (const id of ["google", "github"] as const) {
    const { session, answer } = await signIn(id);
    expect([session, answer.body.includes("their organization")], id).toEqual([undefined, true]);
  }
  expect(await database.execute("SELECT FROM person_identity")).toBe(1);
  expect((await guest.post("/dashboard/forgot", { email: "ann@example.org" })).body).toContain("If this address has an account");
});

test("sessions, resets, passkeys and codes from before the domain was bound stop working", async () => {
  const free = await open();
  const ann = await free.owner("ann@example.com");
  const authenticator = createAuthenticator(publicBaseUrl);
  const page = (await ann.get("/dashboard/settings/passkeys/new")).body;
  await ann.post("/dashboard/settings/passkeys/new", {
    name: "Laptop",
    challenge: fieldOf(page, "challenge"),
    credential: authenticator.create(dataOf(page, "options")),
  });
  await free.guest.post("/dashboard/forgot", { email: "ann@example.com" });
  await expect.poll(() => free.mailer.outbox?.letters.some(({ letter }) => letter.text.includes("reset?token="))).toBe(true);
  const letters = free.mailer.outbox?.letters.map(({ letter }) => letter.text).join() ?? "";
  const token = /reset\?token=(\S+)/.exec(letters)?.[1] ?? "";
  const step = await free.guest.post("/dashboard/sign-in", { email: "ann@example.com", password: PASSWORD });

  const configs = providerConfigs({ OIDC_ISSUER: "https://id.example", OIDC_CLIENT_ID: "x", OIDC_CLIENT_SECRET: "x" });
  const bound = await openDashboard(free.database, {
    publicBaseUrl,
    providers: configs.map((config) => createProvider(config, { publicBaseUrl })),
    providerDomains: providerDomains({ PROVIDER_DOMAINS: "example.com=oidc" }, configs),
    passkeys: createPasskeys({ id: "gateway.example", origin: publicBaseUrl }, { database: free.database, pepper: PEPPER }),
    mailer: createOutbox(),
  });
  const same = bound.client({ cookie: ann.cookie }, ann.csrf);
  expect((await same.get("/dashboard/keys")).headers["location"]).toContain("/dashboard/sign-in");
  expect((await same.get("/api/v1/keys")).statusCode).toBe(401);
  const reset = await bound.guest.post("/dashboard/reset", { token, password: "quite other words together", "signed-up": "me" });
  expect([reset.statusCode, reset.cookies]).toEqual([400, []]);
  const ask = (await bound.guest.get("/dashboard/sign-in")).body;
  const credential = authenticator.get(dataOf(ask, "options"));
  const byPasskey = await bound.guest.post("/dashboard/sign-in/passkey", { challenge: fieldOf(ask, "challenge"), credential });
  expect([byPasskey.statusCode, byPasskey.cookies, byPasskey.body.includes("their organization")]).toEqual([401, [], true]);
  const recovery = await bound.guest.post("/dashboard/sign-in/code", { note: fieldOf(step.body, "note"), code: "0000" });
  expect(recovery.cookies).toEqual([]);
});

test("proving an address through its own provider takes over what a stranger created with it", async () => {
  const { oidc, signIn, owner, database } = await open({ domains: "example.com=oidc" });
  const { personId, accountId } = await owner("ann@example.com");
  await database.execute(
    "INSERT INTO management_token (id, account_id, name, role, token_hash, created_by) VALUES ($1, $2, 'x', 'owner', $3, $1)",
    [personId, accountId, Buffer.alloc(32)],
  );
  oidc.user = ANN;
  expect((await signIn("oidc")).session).toBeDefined();
  expect(await findPersonByEmail(database, "ann@example.com")).toMatchObject({
    id: personId,
    hasPassword: false,
    isEmailVerified: true,
  });
  expect(await database.execute("SELECT FROM management_token WHERE revoked_at IS NULL")).toBe(0);
  expect(await database.execute("SELECT FROM session")).toBe(1);
  expect(await listAllKeys(database, { accountId })).toEqual([]);
});

test("a domain bound to Google accepts an account of the organization, not one that once had the address", async () => {
  const { google, signIn } = await open({ domains: "example.com=google" });
  google.user = ANN;
  const left = await signIn("google");
  expect([left.session, left.answer.body.includes("does not belong to example.com")]).toEqual([undefined, true]);
  google.user = { ...ANN, hd: "example.org" };
  expect((await signIn("google")).session).toBeUndefined();
  google.user = { ...ANN, hd: "example.com" };
  expect((await signIn("google")).session).toBeDefined();
});

test.for([true, false])(
  "where a second factor is required, a provider that asks for one itself is enough: %s",
  async (hasSecondFactor) => {
    const { oidc, signIn, owner, database, client } = await open({ hasSecondFactor });
    const { accountId } = await owner("ann@example.com");
    await database.execute("UPDATE person SET email_verified_at = now()");
    await setSecondFactorRule(database, { accountId, isRequired: true });
    oidc.user = ANN;
    const { session } = await signIn("oidc");
    const page = await client({ cookie: session ?? "" }).get("/dashboard/keys");
    expect(page.headers["location"]).toBe(hasSecondFactor ? undefined : "/dashboard/settings/second-factor");
  },
);

test("inconsistent settings are rejected with the remedy", () => {
  const google = providerConfigs({ GOOGLE_CLIENT_ID: "x", GOOGLE_CLIENT_SECRET: "y" });
  expect(google).toMatchObject([{ id: "google", issuer: "https://accounts.google.com" }]);
  const domains = (text: string) => () => providerDomains({ PROVIDER_DOMAINS: text }, google);
  expect(domains("example.com=oidc")).toThrow("which is not set up");
  expect(domains("example.com=github")).toThrow("not set up");
  expect(domains("example.com=google, example.com=google")).toThrow("twice");
  const github = providerConfigs({ GITHUB_CLIENT_ID: "x", GITHUB_CLIENT_SECRET: "y", GITHUB_URL: "https://github.example/" });
  expect(github).toMatchObject([{ id: "github", url: "https://github.example" }]);
  expect(() => providerDomains({ PROVIDER_DOMAINS: "example.com=github" }, github)).toThrow("that a person still works there");
  expect(PROVIDER_DOMAIN_VARIABLES.PROVIDER_DOMAINS.safeParse("example.com").success).toBe(false);
});
