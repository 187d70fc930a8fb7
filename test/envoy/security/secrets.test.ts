import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { createManagementToken } from "../../../ledger/people/management-tokens.ts";
import { findPersonByEmail } from "../../../ledger/people/persons.ts";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import { createBrowser } from "../../support/dashboard/browser.ts";
import { eventually } from "../../support/eventually.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { startSpanCollector, type SpanCollector } from "../../support/servers/span-collector.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/**
 * Every secret that the product has or is told, through every error that takes one along, and then everything that it has
 * written, shown or kept is searched for them (docs/security.md).
 */
let stack: TestStack;
let provider: RecordingUpstream;
let collector: SpanCollector;
let removeManifests: () => Promise<void>;
let isIssuerAsked = false;
const secrets = new Map<string, string>();
/** What clients, operators and name's owners can see, by where it was. */
const seen = new Map<string, string>();

const PROVIDER_KEY = "provider-key-4f1c9e0d7a";
const AWS_KEYS = {
  "access-key-id": "AKIDEXAMPLE0LILAC",
  "secret-access-key": "aws-secret-5b8d2f7c1e",
  "session-token": "aws-session-9e3a6c4d",
};
const CLIENT_SECRET = "client-secret-7d1f4b9a2c";
const MODELS = ["one", "two", "signed", "issued", "away"];
const PROMPT = "a prompt about a lilac walrus";
const ANSWER = "an answer about a teal badger";

beforeAll(async () => {
  // It echoes the request, as some servers do in their errors.
  provider = await startRecordingUpstream((request, response, body) => {
    const status = request.url?.endsWith("/messages") === true ? 500 : 401;
    response.writeHead(status, { "content-type": "application/json" });
    const { authorization, "x-amz-security-token": session } = request.headers;
    const received = request.url === "/token" ? body : `${authorization} ${String(session)}`;
    isIssuerAsked ||= received.includes(CLIENT_SECRET);
    response.end(JSON.stringify({ error: { message: `${ANSWER}: wrong key ${received}`, type: "auth" } }));
  });
  const url = `http://127.0.0.1:${provider.port}`;
  const backend = (name: string, protocol: "chat" | "messages") => ({ name, protocol, url, credential: PROVIDER_KEY });
  const manifests = await makeBackendManifests([
    { name: "one", backends: [backend("a", "chat")] },
    { name: "two", backends: [backend("a", "chat"), backend("b", "messages")] },
    { name: "signed", backends: [{ name: "a", protocol: "chat", url, aws: { region: "us-east-1", keys: AWS_KEYS } }] },
    // It refuses to issue a token as well.
    {
      name: "issued",
      backends: [
        { name: "a", protocol: "chat", url, oauth: { tokenUrl: `${url}/token`, clientId: "me", secret: CLIENT_SECRET } },
      ],
    },
    // Nothing listens there.
    { name: "away", backends: [{ ...backend("a", "chat"), url: "http://127.0.0.1:9" }] },
  ]);
  removeManifests = manifests.remove;
  collector = await startSpanCollector();
  stack = await startTestStack({ manifestsDirectory: manifests.directory, tracesUrl: collector.url });

  const settings = await readFile(stack.directory.settings, "utf8");
  const password = /^DASHBOARD_PASSWORD=(\S+)$/m.exec(settings)?.[1] ?? "";
  const person = await findPersonByEmail(stack.database, "demo@example.com");
  const program = { accountId: "demo", name: "program", role: "owner", createdBy: person?.id ?? "", expiresAt: null } as const;
  for (const [name, value] of [
    ["pepper", (await readFile(stack.directory.pepper, "utf8")).trim()],
    ["provider's key", PROVIDER_KEY],
    ["AWS's secret key", AWS_KEYS["secret-access-key"]],
    ["AWS's session token", AWS_KEYS["session-token"]],
    ["client's secret", CLIENT_SECRET],
    // The public id before it is no secret.
    ["customer's key", stack.apiKey.slice("sk-mg-".length + 12)],
    ["database's password", new URL(stack.databaseUrl).password],
    ["dashboard's password", password],
    ["management token", (await createManagementToken(stack.database, program)).value],
    ["prompt", PROMPT],
    ["answer", ANSWER],
  ] as const) {
    expect(value.length, name).toBeGreaterThanOrEqual(10);
    secrets.set(name, value);
  }
});
afterAll(async () => {
  await stack?.stop();
  await collector?.stop();
  await provider?.stop();
  await removeManifests?.();
});

const of = (name: string) => secrets.get(name) ?? "";

/** Keeps what came back, headers and all. */
async function show(what: string, target: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(target, { redirect: "manual", ...init });
  const text = await response.clone().text();
  seen.set(`${seen.size} answer to ${what}`, `${response.status} ${JSON.stringify([...response.headers])} ${text}`);
  return response;
}

function expectNowhere(texts: ReadonlyMap<string, string>): void {
  for (const [where, text] of texts)
    for (const [name, secret] of secrets)
      for (const form of [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64")])
        expect({ where, holds: text.includes(form) ? name : null }).toEqual({ where, holds: null });
}

test("errors that clients provoke reveal nothing about others, the provider or the gateway", async () => {
  const key = stack.apiKey;
  const ask = (model: string, more: object = {}) =>
    JSON.stringify({ model, max_tokens: 20, messages: [{ role: "user", content: PROMPT }], ...more });
  const post = (body: string, headers: Record<string, string>) => ({
    method: "POST",
    body,
    headers: { "content-type": "application/json", ...headers },
  });
  for (const where of ["/v1/chat/completions", "/v1/messages", "/v1/responses"]) {
    const own = { authorization: `Bearer ${key}` };
    for (const model of [...MODELS, "none"]) await show(where, stack.baseUrl + where, post(ask(model), own));
    await show(where, stack.baseUrl + where, post(ask("one", { stream: true }), own));
    await show(where, stack.baseUrl + where, post(`{"model": "one", ${PROMPT} ${key}`, own));
    await show(where, stack.baseUrl + where, post(ask("one", { max_tokens: key, temperature: PROMPT }), own));
    for (const wrong of [`${key}x`, key.slice(0, -1), `sk-mg-000000000000${of("customer's key")}`, `"${key}"`, PROVIDER_KEY])
      await show(where, stack.baseUrl + where, post(ask("one"), { "x-api-key": wrong }));
    await show(
      where,
      stack.baseUrl + where,
      post(ask("one"), { authorization: `Basic ${Buffer.from(`x:${key}`).toString("base64")}` }),
    );
    await show(where, `${stack.baseUrl}${where}?key=${key}&api_key=${key}`, post(ask("one"), {}));
    await show(where, `${stack.baseUrl}${where}/${key}`, post(ask("one"), own));
    await show(
      where,
      stack.baseUrl + where,
      post(ask("one"), { ...own, traceparent: key, "x-request-id": key, "x-session-id": key }),
    );
  }
  await show("a path", `${stack.baseUrl}/${key}/v1/models`, { headers: { "x-api-key": key } });
  const sent = provider.requests.map(({ headers }) => headers);
  expect(sent.some(({ authorization }) => authorization === `Bearer ${PROVIDER_KEY}`)).toBe(true);
  expect(sent.some((headers) => headers["x-amz-security-token"] === AWS_KEYS["session-token"])).toBe(true);
  // Envoy asks beside the requests.
  await eventually(() => expect(isIssuerAsked).toBe(true));
  expectNowhere(seen);
});

test("the dashboard and its API reveal no secrets that they receive", async () => {
  const browser = createBrowser(stack.baseUrl);
  const signIn = (password: string) => browser.post("/dashboard/sign-in", { email: "demo@example.com", password });
  for (const password of [`${of("dashboard's password")}x`, of("management token")])
    seen.set(`sign-in ${seen.size}`, (await signIn(password)).text);
  await browser.post("/dashboard/sign-in", { email: of("dashboard's password"), password: of("dashboard's password") });
  expect((await signIn(of("dashboard's password"))).status).toBe(303);
  const [session = ""] = browser.cookies.values();
  expect(session.length).toBeGreaterThan(30);
  // Whoever has it reads it in their own cookie only.
  for (const page of [
    "/dashboard",
    "/dashboard/keys",
    "/dashboard/usage/requests",
    "/dashboard/tokens",
    "/dashboard/nothing",
    "/dashboard/admin",
  ])
    seen.set(page, (await browser.get(page)).text);
  secrets.set("session", session);
  await show("a forged session", `${stack.baseUrl}/dashboard`, { headers: { cookie: `session=${session}x; a=${session}` } });
  const asProgram = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
  expect((await show("a token", `${stack.baseUrl}/api/v1/keys`, asProgram(of("management token")))).status).toBe(200);
  for (const token of [`${of("management token")}x`, stack.apiKey])
    await show("a wrong token", `${stack.baseUrl}/api/v1/keys`, asProgram(token));
  await show("a token in the query", `${stack.baseUrl}/api/v1/nothing?token=${of("management token")}`);
  // Its own page has it again, for its form; nothing else may.
  await browser.get(`/dashboard/reset?token=${session}`);
  expectNowhere(seen);
});

const adminSchema = z.coerce.number();

/** Of the process of a part. */
async function procOf(part: string, file: "cmdline" | "environ"): Promise<string> {
  return await readFile(`/proc/${stack.pids[part]}/${file}`, "utf8");
}

async function adminPortOf(part: string): Promise<number> {
  return adminSchema.parse(/(?:^|\0)ADMIN_PORT=(\d+)/.exec(await procOf(part, "environ"))?.[1]);
}

test("no log, metric, span, command line or dump of Envoy contains one", async () => {
  await stack.idle();
  const shown = new Map<string, string>();
  for (const part of Object.keys(stack.pids)) shown.set(`command line of ${part}`, await procOf(part, "cmdline"));
  for (const part of ["extproc", "operator", "dashboard"])
    for (const page of ["/metrics", "/readyz", "/healthz"])
      shown.set(`${part}${page}`, await (await fetch(`http://127.0.0.1:${await adminPortOf(part)}${page}`)).text());
  for (const page of ["/config_dump?include_eds", "/clusters", "/stats/prometheus", "/certs", "/listeners", "/server_info"])
    shown.set(`Envoy's ${page}`, await (await fetch(stack.envoyAdminUrl + page)).text());
  // It is there, and hidden.
  expect(shown.get("Envoy's /config_dump?include_eds")).toContain("credential/default/");
  await eventually(() => expect(collector.spans.length).toBeGreaterThan(10));
  shown.set("spans", collector.bytes().toString("latin1"));
  await fetch(`${stack.envoyAdminUrl}/reopen_logs`, { method: "POST" });
  const logs = (await readdir(stack.directory.logs)).map((name) => path.join(stack.directory.logs, name));
  expect(logs.length).toBeGreaterThanOrEqual(6);
  for (const log of logs) shown.set(log, await readFile(log, "utf8"));
  // The searched output is not empty.
  await eventually(async () =>
    expect(await readFile(path.join(stack.directory.logs, "access.log"), "utf8")).toContain("/v1/messages"),
  );
  shown.set("access log", await readFile(path.join(stack.directory.logs, "access.log"), "utf8"));
  expect(shown.get(path.join(stack.directory.logs, "extproc.log"))).toContain("error from the model server");
  shown.set("Envoy's bootstrap", await readFile(stack.directory.envoy, "utf8"));
  expectNowhere(shown);
});

test("no database table contains one", async () => {
  const row = z.object({ name: z.string() });
  const tables = await stack.database.query({
    text: "SELECT table_name::text AS name FROM information_schema.tables WHERE table_schema = 'public'",
    row,
  });
  expect(tables.length).toBeGreaterThan(15);
  const content = new Map<string, string>();
  for (const { name } of tables) {
    const rows = await stack.database.query({ text: `SELECT row_to_json(t)::text AS name FROM public."${name}" t`, row });
    content.set(`table ${name}`, rows.map((each) => each.name).join("\n"));
  }
  expect(content.get("table api_key")).toContain("demo");
  expectNowhere(content);
});
