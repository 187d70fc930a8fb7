import { expect, test } from "vitest";
import * as z from "zod";
import { createProvider } from "../../../dashboard/oidc/create-provider.ts";
import { createPasskeys } from "../../../dashboard/passkeys/passkeys.ts";
import { createPayments } from "../../../dashboard/payments/payments.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { freePort, LOOPBACK } from "../../../local/process/ports.ts";
import { makeThing } from "../../support/dashboard/account-things.ts";
import type { Access } from "../../support/dashboard/access.ts";
import { ACCESS } from "../../support/dashboard/access-table.ts";
import { openDashboard, type Client, type Route, type SignedIn, type TestDashboard } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, PEPPER, PRICE } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Each route of the app, requested by everyone: test/support/dashboard/access-table.ts lists the expected answers. */
const postgres = usePostgres();
const LONG = 900_000;
/** In the name of everything of the account whose owner is Ann; nobody else's answers may hold it. */
const MARK = "annmarker";
const ROLES = ["viewer", "member", "owner"] as const;

interface TriedRoute extends Route {
  /** As the table names it. */
  name: string;
  access: Access;
  isApi: boolean;
  /** Of the app that has it: which webhook there is follows from how people pay. */
  dashboard: TestDashboard;
}

interface World {
  database: Database;
  dashboards: readonly TestDashboard[];
  people: Readonly<Record<"viewer" | "member" | "owner" | "stranger" | "admin", SignedIn>>;
  /** Management tokens; the stranger's is of their own account. */
  tokens: Readonly<Record<"viewer" | "member" | "owner" | "stranger", string>>;
}

async function openWorld(): Promise<World> {
  const { database } = await postgres.migrated();
  await publishModels(database, [{ model: catalogueModel("modelx-v4-pro"), price: PRICE }]);
  const port = await freePort();
  const publicBaseUrl = `http://${LOOPBACK}:${port}`;
  const payments = [{ provider: "test" }, { provider: "stripe", secretKey: "sk_test_1", webhookSecret: "whsec_1" }] as const;
  const open = async (config: (typeof payments)[number], options: Parameters<typeof openDashboard>[1] = {}) =>
    openDashboard(database, {
      publicBaseUrl,
      payments: await createPayments(config, { publicBaseUrl, pepper: PEPPER }),
      // Everybody on the machine reads the outbox: this one stays empty.
      mailer: { send: async () => {}, outbox: { letters: [] } },
      ...options,
    });
  // A provider that is away.
  const issuer = `http://${LOOPBACK}:${await freePort()}`;
  const client = { clientId: "gateway", clientSecret: "none", name: "Example", hasSecondFactor: false, hasAuthTime: true };
  const oidc = createProvider({ id: "oidc", issuer, ...client }, { publicBaseUrl });
  const dashboard = await open(payments[0]);
  const passkeys = createPasskeys({ id: "localhost", origin: publicBaseUrl }, { database, pepper: PEPPER });
  const withMore = await open(payments[1], { providers: [oidc], passkeys, signUp: { isOpen: true, domains: ["example.com"] } });
  // Paying without money sends notices there.
  await dashboard.app.listen({ host: LOOPBACK, port });
  const owner = await dashboard.owner(`${MARK}@example.com`);
  const people = {
    owner,
    viewer: await dashboard.inAccount(owner.accountId, "viewer", `${MARK}-viewer@example.com`),
    member: await dashboard.inAccount(owner.accountId, "member", `${MARK}-member@example.com`),
    stranger: await dashboard.owner("eve@example.com"),
    admin: await dashboard.admin(),
  };
  const tokenOf = async (role: (typeof ROLES)[number], { accountId, personId }: SignedIn = owner) =>
    (await dashboard.program(accountId, personId, role)).token;
  const tokens = {
    viewer: await tokenOf("viewer"),
    member: await tokenOf("member"),
    owner: await tokenOf("owner"),
    stranger: await tokenOf("owner", people.stranger),
  };
  return { database, dashboards: [dashboard, withMore], people, tokens };
}

/** All routes of the app, however it is set up; that there is HEAD for each GET is known. */
function routesOf({ dashboards }: World): (Route & { name: string; dashboard: TestDashboard })[] {
  const all = dashboards.flatMap((dashboard) => dashboard.routes.map((route) => ({ ...route, dashboard, name: nameOf(route) })));
  return [...new Map(all.toReversed().map((route) => [route.name, route])).values()].filter(({ method }) => method !== "HEAD");
}

/** Without the version of the assets. */
function nameOf({ method, url }: Route): string {
  return `${method} ${url.replace(/\/assets\/[0-9a-f]{12}\//, "/assets/")}`;
}

/** Each process has its own bound of an account's API requests a minute: they take turns. */
function triedRoutes(world: World): TriedRoute[] {
  const { dashboards } = world;
  return routesOf(world).map((route, index) => {
    const isApi = route.url.startsWith("/api/");
    const dashboard = isApi ? (dashboards[index % dashboards.length] ?? route.dashboard) : route.dashboard;
    return { ...route, access: accessOf(route.name), isApi, dashboard };
  });
}

test("every route of the app is in the table, and every line of the table has a route", { timeout: LONG }, async () => {
  const names = routesOf(await openWorld()).map(({ name }) => name);
  expect(names.toSorted()).toEqual(Object.keys(ACCESS).toSorted());
});

interface Try {
  who: string;
  client: Client;
  /** HTTP status. */
  expected: number;
  /** Not of the account, and not running the service: nothing of the account may be in the answer. */
  isOutside: boolean;
  isGuest: boolean;
}

test(
  "each route answers each of them as the table says, and pages offer only what is allowed; refused requests change and reveal nothing",
  { timeout: LONG },
  async () => {
    const world = await openWorld();
    for (const route of triedRoutes(world)) {
      for (const each of await triesOf(route, world)) await tryRoute(route, each, world);
    }
  },
);

async function triesOf({ access, dashboard, isApi }: TriedRoute, world: World): Promise<Try[]> {
  const program = (whose: keyof World["tokens"]) => dashboard.client({ authorization: `Bearer ${world.tokens[whose]}` });
  // Pages ignore tokens: a client that sends one is a guest.
  const guests = isApi ? await keyHolders(dashboard, world) : [program("owner")];
  const tries = [dashboard.guest, ...guests].map((client, index) => ({
    ...GUEST,
    who: `guest ${index}`,
    client,
    expected: access.guest,
  }));
  for (const role of [...ROLES, "stranger", "admin"] as const) {
    const { personId, accountId } = world.people[role];
    // A browser of its own for each try: signing out must not sign out the next one.
    const client = await dashboard.signIn(personId, accountId);
    tries.push({ who: role, client, expected: access[role], isOutside: role === "stranger", isGuest: false });
  }
  if (!isApi) return tries;
  const programs = [...ROLES, "stranger"] as const;
  return [
    ...tries,
    ...programs.map((role) => ({
      who: `${role}'s program`,
      client: program(role),
      expected: access[role],
      isOutside: role === "stranger",
      isGuest: false,
    })),
  ];
}

const GUEST = { isOutside: true, isGuest: true };

async function tryRoute(route: TriedRoute, { who, client, expected, isOutside, isGuest }: Try, world: World): Promise<void> {
  const { name, method } = route;
  const url = await addressOf(route, route.access, world);
  const isRefused = expected >= 400 || (isGuest && method !== "GET");
  // Other tests check the effect of permitted changes.
  const before = isRefused ? await everything(world.database) : "";
  const answer = await ask(client, route, url);
  const head = method === "GET" ? await client.get(url, { method: "HEAD" }) : answer;
  const after = isRefused ? await everything(world.database) : "";
  const seen = {
    status: answer.statusCode,
    headStatus: head.statusCode,
    isChanged: before !== after,
    revealsAccount: isOutside && answer.body.includes(MARK),
    leadsToSignIn: (answer.headers["location"] ?? "").startsWith("/dashboard/sign-in"),
    offersWhatIsRefused:
      expected === 200 && isRole(who) ? refusedOffers(answer.body, { role: who, personId: world.people[who].personId }) : [],
  };
  expect.soft({ name, who, ...seen }, answer.body.slice(0, 400)).toEqual({
    name,
    who,
    status: expected,
    headStatus: expected,
    isChanged: false,
    revealsAccount: false,
    leadsToSignIn: expected === 303 && (isGuest || name === "POST /dashboard/sign-out"),
    offersWhatIsRefused: [],
  });
}

const isRole = (who: string): who is (typeof ROLES)[number] => ROLES.some((role) => role === who);

/** Forms, buttons and links of a page that lead to where its reader's role may not go. */
function refusedOffers(page: string, { role, personId }: { role: (typeof ROLES)[number]; personId: string }): string[] {
  const posts = [...page.matchAll(/<form[^>]*method="post"[^>]*action="([^"]+)"|formaction="([^"]+)"/g)].map(
    ([, action, formAction]) => `POST ${action ?? formAction ?? ""}`,
  );
  const links = [...page.matchAll(/<a[^>]*href="(\/dashboard[^"]*)"/g)].map(([, href]) => `GET ${href ?? ""}`);
  return [...new Set([...posts, ...links])].filter((offer) => {
    const [target = ""] = offer.split(/[?#]/);
    // The table is about other people: everybody may leave.
    if (target.includes(`/members/${personId}/`)) return false;
    const found = ACCESS[target] ?? Object.entries(ACCESS).find(([name]) => patternOf(name).test(target))?.[1];
    return found?.[role] === 403;
  });
}

function patternOf(name: string): RegExp {
  return new RegExp(`^${name.replaceAll("*", ".*").replaceAll(/:\w+/g, "[^/]+")}$`);
}

/** In the API an API key is nothing, whichever header it is in. */
async function keyHolders(dashboard: TestDashboard, { database, people: { owner } }: World): Promise<Client[]> {
  const { value } = await createApiKey(database, { accountId: owner.accountId, name: MARK, pepper: PEPPER });
  return [dashboard.client({ authorization: `Bearer ${value}` }), dashboard.client({ "x-api-key": value })];
}

async function ask(client: Client, { method, isApi, access: { body = {}, isWebhook = false } }: TriedRoute, url: string) {
  if (method === "GET") return client.get(url);
  if (isWebhook || isApi) return client.call(method, url, body);
  return client.post(url, z.record(z.string(), z.string()).parse(body));
}

test("nothing is accepted from another site, and no form without its page's token", { timeout: LONG }, async () => {
  const world = await openWorld();
  const before = await everything(world.database);
  const takers = triedRoutes(world).filter(({ method, access }) => method !== "GET" && access.isWebhook !== true);
  const elsewhere: Record<string, string>[] = [
    { origin: "https://evil.example" },
    { origin: "null" },
    { origin: "", "sec-fetch-site": "same-site" },
  ];
  for (const { name, method, url: pattern, dashboard } of takers) {
    // Things are made by the address: none is needed where everything is refused.
    const url = pattern.replaceAll(/:\w+/g, "AbCd5678WxYz");
    for (const { cookie, csrf } of [world.people.owner, world.people.admin]) {
      for (const headers of elsewhere) {
        const client = dashboard.client({ cookie, ...headers }, csrf);
        const answers = [await client.call(method, url), ...(method === "POST" ? [await client.post(url)] : [])];
        for (const { statusCode } of answers) expect.soft([name, headers, statusCode]).toEqual([name, headers, 403]);
      }
      if (method !== "POST") continue;
      const { statusCode } = await dashboard.client({ cookie }).post(url);
      expect.soft([name, "no token", statusCode]).toEqual([name, "no token", 403]);
    }
  }
  expect(await everything(world.database)).toBe(before);
});

function accessOf(name: string): Access {
  const access = ACCESS[name];
  if (access === undefined)
    throw new Error(`${name} has no line in test/support/dashboard/access-table.ts: say there who gets what.`);
  return access;
}

async function addressOf({ url }: Route, { ids = {} }: Access, world: World): Promise<string> {
  let address = url;
  for (const [parameter, thing] of Object.entries(ids))
    address = address.replace(
      parameter === "*" ? "*" : `:${parameter}`,
      await makeThing(thing, { database: world.database, ...world.people.owner, mark: MARK }),
    );
  return address;
}

/** Counted per client, whether or not it is admitted. */
const TRACES = ["session", "sign_in_failure", "schema_migration"];

/** Columns that change by looking, and those that a check fills in when it ends, behind the answer that began it. */
const SEEN = ["last_used_at", "last_seen_at"];
const CHECKED = ["ended_at", "differences", "found"];

const read = new WeakMap<Database, { statement: string; until: string; sums: string }>();

/** All rows of all tables, as one text of theirs: any other change changes it. Read again only after a transaction that wrote. */
async function everything(database: Database): Promise<string> {
  const last = read.get(database);
  const [now] = await database.query({
    text: "SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS until",
    values: [],
    row: z.strictObject({ until: z.string() }),
  });
  if (now === undefined) throw new Error("Postgres has no snapshot.");
  if (last?.until === now.until) return last.sums;
  const statement = last?.statement ?? (await sumsOfTables(database));
  const rows = await database.query({
    name: "everything",
    text: statement,
    values: [[...SEEN, ...CHECKED]],
    row: z.strictObject({ name: z.string(), rows: z.int(), sum: z.string() }),
  });
  const sums = rows.map(({ name, rows, sum }) => `${name} ${rows} ${sum}`).join("\n");
  read.set(database, { statement, until: now.until, sums });
  return sums;
}

/** A statement that counts and sums up each table's rows without the columns of its parameter. */
async function sumsOfTables(database: Database): Promise<string> {
  const tables = await database.query({
    text: `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> ALL($1) ORDER BY 1`,
    values: [TRACES],
    row: z.strictObject({ name: z.string() }),
  });
  const sums = tables.map(
    ({ name }) => `SELECT '${name}' AS name, count(*)::int AS rows,
      md5(coalesce(string_agg((to_jsonb(t) - $1::text[])::text, '' ORDER BY (to_jsonb(t) - $1::text[])::text), '')) AS sum FROM ${name} AS t`,
  );
  // Postgres looks at many tables in parallel, in whatever order.
  return `${sums.join(" UNION ALL ")} ORDER BY name`;
}
