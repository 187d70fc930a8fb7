import { expect, test } from "vitest";
import { createProvider } from "../../../dashboard/oidc/create-provider.ts";
import { callbackPath } from "../../../dashboard/oidc/paths.ts";
import { createOutbox } from "../../../dashboard/mail/outbox.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { startOidcProvider } from "../../support/servers/oidc-provider.ts";

/** People who can only sign in with a provider prove there that it is them (S24). */
const postgres = usePostgres();
const publicBaseUrl = "http://gateway.example";
const redirectUri = `${publicBaseUrl}${callbackPath("oidc")}`;
const ANN = { sub: "ann-1", email: "ann@example.com", email_verified: true, name: "Ann Example" };
/** For members with a recent proof of identity. */
const GUARDED = "/dashboard/tokens";
const CONFIRM = `/dashboard/confirm-identity?next=${encodeURIComponent(GUARDED)}`;
const AGAIN = `/dashboard/oidc/start?again=yes&next=${encodeURIComponent(GUARDED)}`;
const LONG_AGO = 2 * 3600;

async function open({ hasAuthTime = true } = {}) {
  const { database } = await postgres.migrated();
  const provider = await startOidcProvider({ redirectUri });
  provider.user = ANN;
  const config = { ...provider, id: "oidc", name: "Example", hasSecondFactor: false, hasAuthTime } as const;
  const oidc = createProvider(config, { publicBaseUrl });
  const { client } = await openDashboard(database, { providers: [oidc], mailer: createOutbox() });

  /** A browser's way from one of our pages to the provider and back. @param change of the address that it goes to. */
  async function visit(path: string, session = "", change: (address: URL) => void = () => undefined) {
    const start = await client({ cookie: session }).get(path);
    const cookie = /oidc=[^;]+/.exec(String(start.headers["set-cookie"]))?.[0] ?? "";
    const address = new URL(String(start.headers["location"]));
    change(address);
    const back = await provider.follow(address.href);
    const answer = await client({ cookie: `${cookie}; ${session}` }).get(back.pathname + back.search);
    return { answer, session: /session=[^;]+/.exec(String(answer.headers["set-cookie"]))?.[0] ?? "" };
  }

  /** Whoever is not known to be there gets to the page that asks them. */
  const guardedPage = async (session: string) => {
    const browser = client({ cookie: session });
    const { body } = await browser.get(GUARDED);
    const form_token = /name="form_token"\s+value="([^"]+)"/.exec(body)?.[1] ?? "";
    const { statusCode, headers } = await browser.post(GUARDED, { form_token, name: "program", role: "viewer", expires: "" });
    return headers["location"] ?? statusCode;
  };
  const signIn = async (change?: (address: URL) => void) => (await visit("/dashboard/oidc/start", "", change)).session;
  return { provider, visit, signIn, guardedPage, client, database };
}

function withoutAge({ searchParams }: URL): void {
  for (const name of ["max_age", "prompt"]) searchParams.delete(name);
}

test("a provider asks them again, and says that it has", async () => {
  const { provider, visit, signIn, guardedPage, client } = await open();
  provider.signedInSecondsAgo = LONG_AGO;
  const session = await signIn();
  expect(await guardedPage(session)).toBe(CONFIRM);
  const page = (await client({ cookie: session }).get(CONFIRM)).body;
  expect(page).toContain("Sign in again with Example");
  expect(page.replaceAll("&#61;", "=").replaceAll("&#38;", "&")).toContain(`href="${AGAIN}"`);

  provider.signedInSecondsAgo = 0;
  let asked = new URLSearchParams();
  const again = await visit(AGAIN, session, ({ searchParams }) => (asked = searchParams));
  expect([asked.get("max_age"), asked.get("prompt")]).toEqual(["0", "login"]);
  expect(again.answer.headers["location"]).toBe(GUARDED);
  expect(await guardedPage(again.session)).toBe(200);
  expect((await client({ cookie: session }).get(GUARDED)).statusCode, "the earlier session has ended").toBe(303);
});

test("a sign-in that was just made there is proof enough", async () => {
  const { signIn, guardedPage } = await open();
  expect(await guardedPage(await signIn())).toBe(200);
});

test("whom a provider lets pass by its own session has proved nothing, and is told so", async () => {
  const { provider, visit, signIn, guardedPage } = await open();
  provider.signedInSecondsAgo = LONG_AGO;
  const session = await signIn();
  const { answer } = await visit(AGAIN, session);
  expect(answer.statusCode).toBe(403);
  expect(answer.body).toContain("Example did not ask you to sign in again");
  expect(await guardedPage(session)).toBe(CONFIRM);
});

test("nor has whoever removes the question from the address, or signs in with a provider that does not answer it", async () => {
  const { visit, signIn, guardedPage } = await open();
  const session = await signIn(withoutAge);
  expect(await guardedPage(session)).toBe(CONFIRM);
  const { answer } = await visit(AGAIN, session, withoutAge);
  expect(answer.statusCode).toBe(403);
  expect(answer.body).toContain("Example does not say when you signed in there");
  expect(await guardedPage(session)).toBe(CONFIRM);
});

test("a provider of which nothing better is expected is believed", async () => {
  const { signIn, guardedPage } = await open({ hasAuthTime: false });
  expect(await guardedPage(await signIn())).toBe(200);
});

test("somebody else there does not take over the session, and creates no account", async () => {
  const { provider, visit, signIn, guardedPage, database } = await open();
  const session = await signIn();
  provider.user = { ...ANN, sub: "bob-1", email: "bob@example.com" };
  const { answer } = await visit(AGAIN, session);
  expect(answer.statusCode).toBe(403);
  expect(answer.body).toContain("You signed in at Example as somebody else");
  expect(await database.execute("SELECT FROM person")).toBe(1);
  expect(await guardedPage(session)).toBe(200);
});

test("the account in view stays in view, and is not their oldest one", async () => {
  const { visit, signIn, database } = await open();
  const session = await signIn();
  const inView = "SELECT FROM session WHERE account_id = 'second'";
  await database.execute("INSERT INTO account (id, name) VALUES ('second', 'Second')");
  await database.execute("INSERT INTO member (account_id, person_id, role) SELECT 'second', id, 'owner' FROM person");
  await database.execute("UPDATE session SET account_id = 'second'");
  expect(await database.execute(inView)).toBe(1);
  await visit(AGAIN, session);
  expect(await database.execute("SELECT FROM session")).toBe(1);
  expect(await database.execute(inView)).toBe(1);
});

test("a provider whose clock is far ahead has proved nothing", async () => {
  const { provider, visit, signIn, guardedPage } = await open();
  provider.signedInSecondsAgo = -60;
  expect(await guardedPage(await signIn())).toBe(200);
  provider.signedInSecondsAgo = -LONG_AGO;
  const session = await signIn();
  expect(await guardedPage(session)).toBe(CONFIRM);
  expect((await visit(AGAIN, session)).answer.statusCode).toBe(403);
});
