import { expect, test } from "vitest";
import { OIDC_VARIABLES, providerConfigs } from "../../../dashboard/oidc/config.ts";
import { callbackPath } from "../../../dashboard/oidc/paths.ts";
import { createProvider } from "../../../dashboard/oidc/create-provider.ts";
import { createOutbox } from "../../../dashboard/mail/outbox.ts";
import { invite } from "../../../ledger/people/invitations.ts";
import { listMemberships } from "../../../ledger/people/members.ts";
import { findPersonByEmail } from "../../../ledger/people/persons.ts";
import { freePort, LOOPBACK } from "../../../local/process/ports.ts";
import { eventually } from "../../support/eventually.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { startOidcProvider, type ProviderUser } from "../../support/servers/oidc-provider.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Sign-in at a real OpenID Connect provider (S24). */
const postgres = usePostgres();
const publicBaseUrl = "http://gateway.example";
const redirectUri = `${publicBaseUrl}${callbackPath("oidc")}`;
const ANN: ProviderUser = { sub: "ann-1", email: "ann@example.com", email_verified: true, name: "Ann Example" };

async function open(options: Parameters<typeof openDashboard>[1] = {}) {
  const { database } = await postgres.migrated();
  const provider = await startOidcProvider({ redirectUri });
  const config = { ...provider, id: "oidc", name: "Example", hasSecondFactor: false, hasAuthTime: true } as const;
  const oidc = createProvider(config, { publicBaseUrl });
  const dashboard = await openDashboard(database, { providers: [oidc], mailer: createOutbox(), ...options });

  /** From our start page to the provider. */
  async function leave(next = "/dashboard", site = "same-origin") {
    const headers = { "sec-fetch-site": site };
    const start = await dashboard.guest.get(`/dashboard/oidc/start?next=${encodeURIComponent(next)}`, { headers });
    const cookie = /oidc=[^;]+/.exec(String(start.headers["set-cookie"]))?.[0] ?? "";
    return { start, cookie, location: String(start.headers["location"]) };
  }

  /** Back from it, as the browser that left. */
  const arrive = (cookie: string, back: URL) => dashboard.client({ cookie }).get(back.pathname + back.search);

  async function signIn(user: ProviderUser | null, next?: string, site?: string) {
    provider.user = user;
    const { cookie, location } = await leave(next, site);
    const back = await provider.follow(location);
    const answer = await arrive(cookie, back);
    const session = /session=[^;]+/.exec(String(answer.headers["set-cookie"]))?.[0];
    return { answer, back, cookie, session, status: answer.statusCode, location: answer.headers["location"] };
  }

  return { ...dashboard, database, provider, leave, arrive, signIn };
}

test("the first sign-in creates an account, and later ones use it, even if the address changes", async () => {
  const { signIn, client, database, guest } = await open();
  expect((await guest.get("/dashboard/sign-in")).body).toContain("Sign in with Example");
  const first = await signIn(ANN, "/dashboard/usage?days=7");
  expect([first.status, first.location]).toEqual([303, "/dashboard/usage?days=7"]);
  const page = await client({ cookie: first.session ?? "" }).get("/dashboard/settings");
  expect([page.statusCode, page.body.includes("Ann Example"), page.body.includes("Current password")]).toEqual([
    200,
    true,
    false,
  ]);
  const ann = await findPersonByEmail(database, "ann@example.com");
  expect(ann).toMatchObject({ hasPassword: false, isEmailVerified: true });

  const second = await signIn({ ...ANN, email: "ann@example.org" });
  expect(second.status).toBe(303);
  expect(await findPersonByEmail(database, "ann@example.org")).toBeUndefined();
  expect(await listMemberships(database, ann?.id ?? "")).toHaveLength(1);
});

test("an address confirmed here earlier is linked, and keeps its password", async () => {
  const { signIn, owner, database } = await open();
  const { personId } = await owner("ann@example.com");
  await database.execute("UPDATE person SET email_verified_at = now() WHERE id = $1", [personId]);
  expect((await signIn(ANN)).status).toBe(303);
  expect(await findPersonByEmail(database, "ann@example.com")).toMatchObject({ id: personId, hasPassword: true });
  // Another user of the provider who claims the same address is another person.
  const other = await signIn({ ...ANN, sub: "ann-2" });
  expect([other.status, other.session]).toEqual([403, undefined]);
  expect(other.answer.body).toContain("another user of your provider");
});

test("someone who signed up with another's unconfirmed address does not share the owner's data", async () => {
  const { signIn, owner } = await open();
  const squatter = await owner("ann@example.com");
  const { status, answer, session } = await signIn(ANN);
  expect([status, session]).toEqual([403, undefined]);
  expect(answer.body).toContain("has not confirmed the address yet");
  expect((await squatter.get("/dashboard")).statusCode).toBe(200);
});

test.for([
  ["without an address", { sub: "x" }],
  ["with one that is not verified", { ...ANN, email_verified: false }],
  ["with one of which nothing is said", { sub: "x", email: "ann@example.com" }],
] as const)("somebody %s is refused with the remedy", async ([, user]) => {
  const { signIn, database } = await open();
  const { status, answer } = await signIn(user);
  expect(status).toBe(403);
  expect(answer.body).toContain("Example has not verified your email address");
  expect(await findPersonByEmail(database, "ann@example.com")).toBeUndefined();
});

test("cancelling at the provider is reported", async () => {
  const { status, answer } = await (await open()).signIn(null);
  expect([status, answer.body.includes("Example did not sign you in")]).toEqual([403, true]);
});

test("an answer counts once, and only for the browser that asked", async () => {
  const { signIn, leave, arrive, provider } = await open();
  const { cookie, back } = await signIn(ANN);
  const replayed = await arrive(cookie, back);
  expect([replayed.statusCode, replayed.headers["set-cookie"]?.includes("session=")]).toEqual([400, false]);
  expect(replayed.body).toContain("already used");

  // Without the cookie, with another sign-in's, and with another state than that browser's.
  const [mine, victim] = [await leave(), await leave()];
  const mineBack = await provider.follow(mine.location);
  expect((await arrive("", mineBack)).statusCode).toBe(400);
  expect((await arrive(victim.cookie, mineBack)).statusCode).toBe(400);
  const forged = new URL(mineBack);
  forged.searchParams.set("state", new URL(victim.location).searchParams.get("state") ?? "");
  expect((await arrive(victim.cookie, forged)).statusCode).toBe(400);
  expect((await arrive(`${mine.cookie.slice(0, -2)}xx`, mineBack)).statusCode).toBe(400);
  expect((await arrive(mine.cookie, mineBack)).statusCode).toBe(303);
});

test("the provider is asked with PKCE, a state and a nonce", async () => {
  const { leave, provider } = await open();
  const { start, location } = await leave();
  const { searchParams, origin } = new URL(location);
  expect([start.statusCode, origin]).toEqual([303, provider.issuer]);
  expect(Object.fromEntries(searchParams)).toMatchObject({ code_challenge_method: "S256", redirect_uri: redirectUri });
  for (const name of ["state", "nonce", "code_challenge"]) expect(searchParams.get(name)).toMatch(/^[\w-]{40,}$/);
  expect(String(start.headers["set-cookie"])).toMatch(/HttpOnly; SameSite=Lax/);
});

test.for(["//evil.example", "https://evil.example", "/dashboard/../../evil", "/evil"])(
  "nobody is redirected to %s afterwards",
  async (next) => {
    expect((await (await open()).signIn(ANN, next)).location).toMatch(/^\/dashboard$/);
  },
);

test("a provider that returns no address is not treated as unavailable", async () => {
  const { signIn, provider } = await open();
  expect((await signIn(ANN)).status).toBe(303);
  // Known by then: no address is needed.
  provider.user = null;
  expect((await signIn({ sub: "ann-1", email: null })).status).toBe(303);
  expect((await signIn({ sub: "bob-1", email: null })).answer.body).toContain("has not verified your email address");
});

test("the rules for sign-up apply: closed, domains, and an invitation allows it", async () => {
  const closed = await open({ signUp: { isOpen: false, domains: null }, mailer: undefined });
  const refused = await closed.signIn(ANN);
  expect([refused.status, refused.answer.body.includes("Sign-up is closed")]).toEqual([404, true]);

  const owner = await closed.owner("owner@example.com");
  const invited = await owner.post("/dashboard/members/invite", { email: "ann@example.com", role: "viewer" });
  const token = /invitation\?token&#61;([\w-]+)/.exec(invited.body)?.[1] ?? "";
  const invitation = `/dashboard/invitation?token=${token}`;
  const led = await closed.signIn(ANN, invitation, "cross-site");
  expect([led.status, led.session, led.answer.body.includes("Open the link in the invitation itself")]).toEqual([
    400,
    undefined,
    true,
  ]);
  expect((await closed.signIn(ANN, invitation)).status).toBe(303);
  const ann = await findPersonByEmail(closed.database, "ann@example.com");
  expect(await listMemberships(closed.database, ann?.id ?? "")).toMatchObject([{ accountId: owner.accountId, role: "viewer" }]);

  const restricted = await open({ signUp: { isOpen: true, domains: ["example.org"] } });
  expect((await restricted.signIn(ANN)).answer.body).toContain("Sign-up is limited to email addresses at example.org.");
  expect((await restricted.signIn({ ...ANN, email: "ann@example.org" })).status).toBe(303);
});

test("owners are notified of a person who signs up through a provider with an invitation", async () => {
  const outbox = createOutbox();
  const { signIn, owner, database } = await open({ mailer: outbox });
  const ann = await owner("owner@example.com");
  const token = await invite(database, {
    accountId: ann.accountId,
    email: "ann@example.com",
    role: "viewer",
    invitedBy: ann.personId,
  });
  expect((await signIn(ANN, `/dashboard/invitation?token=${token}`)).status).toBe(303);
  const toOwner = () => outbox.outbox?.letters.filter(({ letter }) => letter.to === "owner@example.com") ?? [];
  await eventually(() =>
    expect(toOwner().map(({ letter }) => letter.text)).toEqual([
      expect.stringContaining("ann@example.com accepted an invitation"),
    ]),
  );
});

test("an unavailable provider does not block other ways to sign in, and works again afterwards", async () => {
  const { database } = await postgres.migrated();
  const port = await freePort();
  const client = { clientId: "gateway", clientSecret: "x", name: "Example", hasSecondFactor: false, hasAuthTime: true };
  const config = { id: "oidc", issuer: `http://${LOOPBACK}:${port}`, ...client } as const;
  const { guest } = await openDashboard(database, { providers: [createProvider(config, { publicBaseUrl })] });
  expect((await guest.get("/dashboard/sign-in")).statusCode).toBe(200);
  const away = await guest.get("/dashboard/oidc/start");
  expect([away.statusCode, away.body.includes("Sign-in with Example is unavailable right now")]).toEqual([503, true]);
  await startOidcProvider({ redirectUri, port });
  expect((await guest.get("/dashboard/oidc/start")).statusCode).toBe(303);
});

test("settings must be complete, and an issuer's address safe", () => {
  expect(providerConfigs({})).toEqual([]);
  expect(providerConfigs({ OIDC_ISSUER: "", GITHUB_CLIENT_ID: "", GITHUB_CLIENT_SECRET: "" })).toEqual([]);
  expect(() => providerConfigs({ OIDC_ISSUER: "https://id.example", OIDC_CLIENT_ID: "x" })).toThrow("OIDC_CLIENT_SECRET");
  expect(() => providerConfigs({ GITHUB_CLIENT_ID: "x" })).toThrow(
    "GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET must be set together",
  );
  expect(OIDC_VARIABLES.OIDC_ISSUER.safeParse("http://id.example").success).toBe(false);
  expect(OIDC_VARIABLES.OIDC_ISSUER.safeParse(`http://${LOOPBACK}:1`).success).toBe(true);
});
