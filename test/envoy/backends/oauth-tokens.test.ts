import OpenAI from "openai";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { makeBackendManifests, type TestBackend, type TestModelOfMany } from "../../support/stacks/backend-manifests.ts";
import { makeCompletion, makeCompletionStream } from "../../support/servers/completions.ts";
import { eventually } from "../../support/eventually.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";
import { startTokenEndpoint, type TokenEndpoint } from "../../support/servers/token-endpoint.ts";

/** Model servers that take a token from another server, which expires (S49, docs/decisions/0071). */
const OLD_SECRET = "old/secret+Zk3v9QmT7wLr2YbN=";
const NEW_SECRET = "new~secret&Zk3v9QmT7wLr2YbN";
const SCOPES = ["https://models.example/.default", "second"];
const KEY = "px-live-Zk3v9QmT7wLr2YbN";

let server: RecordingUpstream;
/** Its tokens last an hour. */
let issuer: TokenEndpoint;
/** Its tokens last four seconds. */
let hasty: TokenEndpoint;
let away: TokenEndpoint;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestStack;
let client: OpenAI;
const issuers: TokenEndpoint[] = [];
const asked: { isValid: boolean; token: string }[] = [];
beforeEach(() => void (asked.length = 0));

function models(secret: string, more: readonly TestModelOfMany[] = []): TestModelOfMany[] {
  const backend = { name: "first", protocol: "chat", url: `http://127.0.0.1:${server.port}` } as const;
  const oauth = ({ url }: TokenEndpoint, options: Partial<NonNullable<TestBackend["oauth"]>> = {}): TestBackend => ({
    ...backend,
    oauth: { tokenUrl: url, clientId: "gateway", secret: OLD_SECRET, scopes: SCOPES, ...options },
  });
  const maxOutputTokens = 100;
  return [
    { name: "lasting", backends: [oauth(issuer)], maxOutputTokens },
    { name: "hasty", backends: [oauth(hasty, { clientId: "hasty", secret })], maxOutputTokens },
    { name: "away", backends: [oauth(away)], maxOutputTokens },
    {
      name: "away-at-first",
      backends: [oauth(away), { ...backend, name: "second", priority: 1, credential: KEY }],
      maxOutputTokens,
    },
    ...more,
  ];
}

beforeAll(async () => {
  issuer = await startTokenEndpoint(() => 3_600_000);
  hasty = await startTokenEndpoint(() => 4_000);
  away = await startTokenEndpoint(() => 3_600_000);
  away.behave("fail");
  for (const each of [issuer, away]) each.clients.set("gateway", OLD_SECRET);
  hasty.clients.set("hasty", OLD_SECRET);
  server = await startRecordingUpstream((request, response, body) => {
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const isValid = token === KEY || [issuer, hasty, away, ...issuers].some((each) => each.isValid(token));
    asked.push({ isValid, token });
    if (!isValid) return void response.writeHead(401, { "content-type": "application/json" }).end('{"error":"expired"}');
    const isStream = body.includes('"stream":true');
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    response.end(isStream ? makeCompletionStream() : makeCompletion());
  });
  manifests = await makeBackendManifests(models(OLD_SECRET));
  stack = await startTestStack({ manifestsDirectory: manifests.directory });
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey: stack.apiKey, maxRetries: 0 });
  // Envoy fetches each backend's first token when it gets the backend.
  for (const model of ["lasting", "hasty"]) await eventually(() => ask(model));
});
afterAll(async () => {
  await stack?.stop();
  for (const each of [server, issuer, hasty, away, ...issuers]) await each?.stop();
  await manifests?.remove();
});

const messages = [{ role: "user", content: "Hello." }] satisfies OpenAI.ChatCompletionMessageParam[];

async function ask(model: string): Promise<string | null | undefined> {
  return (await client.chat.completions.create({ model, messages })).choices[0]?.message.content;
}

async function stream(model: string): Promise<string> {
  let text = "";
  for await (const chunk of await client.chat.completions.create({ model, messages, stream: true }))
    text += chunk.choices[0]?.delta.content ?? "";
  return text;
}

/** Asks for so long; the errors. */
async function askFor(model: string, ms: number): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const end = Date.now() + ms; Date.now() < end; await sleep(20))
    await ask(model).catch((error: unknown) => failures.push(error));
  return failures;
}

test("one token serves all requests, streamed or not", async () => {
  expect(await ask("lasting")).toBe("one two three");
  expect(await stream("lasting")).toBe("one two three");
  expect(asked).toMatchObject([{ isValid: true }, { isValid: true }]);
  expect(new Set(asked.map(({ token }) => token)).size).toBe(1);
  expect(issuer.requests).toEqual([
    {
      grant_type: "client_credentials",
      scope: SCOPES.join(" "),
      client_id: "gateway",
      client_secret: OLD_SECRET,
    },
  ]);
});

test("a token is replaced before it expires, and no request fails", async () => {
  expect(await askFor("hasty", 9_000)).toEqual([]);
  expect(new Set(asked.map(({ token }) => token)).size).toBeGreaterThan(2);
  expect(asked.filter(({ isValid }) => !isValid)).toEqual([]);
  expect(hasty.requests.at(-1)).toMatchObject({ client_id: "hasty", client_secret: OLD_SECRET });
});

test("a rotated Secret fetches the next token, and no request fails", async () => {
  await manifests.write(models(NEW_SECRET));
  hasty.clients.set("hasty", NEW_SECRET);
  const asking = askFor("hasty", 9_000);
  await eventually(() => expect(hasty.requests.at(-1)).toMatchObject({ client_secret: NEW_SECRET }));
  expect(await asking).toEqual([]);
});

test("without a token, clients get a 503 in their protocol, which costs nothing", async () => {
  await stack.idle();
  const before = await stack.balanceNanoUsd();
  for (const attempt of [ask, stream]) {
    const error: unknown = await attempt("away").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 503, code: "upstream_unavailable" });
  }
  const response = await fetch(`${stack.baseUrl}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": stack.apiKey },
    body: JSON.stringify({ model: "away", max_tokens: 16, messages }),
  });
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ type: "error", error: { type: "overloaded_error" } });
  await stack.idle();
  expect(await stack.balanceNanoUsd()).toBe(before);
  expect(asked).toEqual([]);
});

test("the next backend is asked instead, and the first one again once it has a token", async () => {
  expect(await ask("away-at-first")).toBe("one two three");
  expect(asked).toEqual([{ isValid: true, token: KEY }]);
  away.behave("issue");
  await eventually(async () => {
    await ask("away-at-first");
    expect(asked.at(-1)?.token).not.toBe(KEY);
  });
  // It fetches a token of its own.
  expect(await eventually(() => ask("away"))).toBe("one two three");
});

test("an answer that is no usable token is followed by another request, a second later", async () => {
  const issuing = await startTokenEndpoint(() => 3_600_000);
  issuing.clients.set("gateway", OLD_SECRET);
  issuers.push(issuing);
  const url = `http://127.0.0.1:${server.port}`;
  const oauth = { tokenUrl: issuing.url, clientId: "gateway", secret: OLD_SECRET };
  for (const behaviour of ["page", "late"] as const) {
    issuing.behave(behaviour);
    const before = issuing.requests.length;
    const name = `after-${behaviour}`;
    await manifests.write(models(NEW_SECRET, [{ name, backends: [{ name: "first", protocol: "chat", url, oauth }] }]));
    await eventually(() => expect(issuing.requests.length).toBeGreaterThan(before + 1));
    expect(issuing.requests.length).toBeLessThan(before + 5);
    issuing.behave("issue");
    expect(await eventually(() => ask(name))).toBe("one two three");
  }
});

test("Envoy outlives backends that are removed while their token is fetched", async () => {
  const stalled = await startTokenEndpoint(() => 3_600_000);
  stalled.behave("stall");
  const url = `http://127.0.0.1:${server.port}`;
  for (const round of [1, 2, 3]) {
    const oauth = { tokenUrl: stalled.url, clientId: `round-${round}`, secret: OLD_SECRET };
    const more = [{ name: `stalled-${round}`, backends: [{ name: "first", protocol: "chat", url, oauth } as const] }];
    await manifests.write(models(NEW_SECRET, more));
    await eventually(() => expect(stalled.requests.at(-1)).toMatchObject({ client_id: `round-${round}` }));
    await manifests.write(models(NEW_SECRET));
  }
  expect(await askFor("lasting", 2_000)).toEqual([]);
  await stalled.stop();
  expect(await ask("lasting")).toBe("one two three");
});

test("Envoy shows neither secret nor token in its dump", async () => {
  const dump = await (await fetch(`${stack.envoyAdminUrl}/config_dump?include_eds`)).text();
  expect(dump).toContain("client-secret/default/");
  for (const secret of [OLD_SECRET, NEW_SECRET, ...new Set(asked.map(({ token }) => token))])
    expect(dump.includes(secret)).toBe(false);
});
