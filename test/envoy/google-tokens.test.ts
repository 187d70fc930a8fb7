import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { makeBackendManifests, type TestBackend, type TestModelOfMany } from "../support/backend-manifests.ts";
import { makeCompletion, makeCompletionStream } from "../support/completions.ts";
import { eventually } from "../support/eventually.ts";
import { startGoogleMetadata, type GoogleMetadata } from "../support/google-metadata.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../support/recording-upstream.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

/** Gemini on Vertex AI with the identity of the machine, which a metadata server hands out (S49, docs/decisions/0079). */
const PROJECT = "/v1/projects/acme/locations/global/endpoints/openapi";
const KEY = "px-live-Zk3v9QmT7wLr2YbN";

let metadata: GoogleMetadata;
let vertex: RecordingUpstream;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestStack;
let client: OpenAI;
const asked: { token: string | undefined; path: string | undefined; body: unknown }[] = [];
beforeEach(() => {
  asked.length = 0;
  metadata.fail();
  metadata.issueFor(3_599);
});

function model(name: string, change: Partial<TestBackend> = {}, more: readonly TestBackend[] = []): TestModelOfMany {
  const url = `http://127.0.0.1:${vertex.port}${PROJECT}`;
  const gemini = { name: "vertex", protocol: "chat", url, upstreamModel: "google/gemini-2.5-pro", google: {} } as const;
  return { name, backends: [{ ...gemini, ...change }, ...more], maxOutputTokens: 100 };
}

function models(): TestModelOfMany[] {
  return [model("gemini"), model("gemini-too"), model("elsewhere", { url: `http://127.0.0.2:${vertex.port}` })];
}

beforeAll(async () => {
  metadata = await startGoogleMetadata();
  vertex = await startRecordingUpstream((request, response, body) => {
    const token = request.headers.authorization;
    asked.push({ token, path: request.url, body: JSON.parse(body) });
    if (token !== `Bearer ${KEY}` && !metadata.isValid(token)) {
      const error = { code: 401, message: "Request had invalid authentication credentials.", status: "UNAUTHENTICATED" };
      return void response.writeHead(401, { "content-type": "application/json" }).end(JSON.stringify([{ error }]));
    }
    const isStream = body.includes('"stream":true');
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    response.end(isStream ? makeCompletionStream() : makeCompletion());
  });
  manifests = await makeBackendManifests(models());
  stack = await startTestStack({
    manifestsDirectory: manifests.directory,
    environment: { GCE_METADATA_HOST: metadata.host, BACKEND_GOOGLE_HOSTS: "127.0.0.1" },
  });
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey: stack.apiKey, maxRetries: 0 });
  await eventually(() => ask("gemini"));
  await eventually(() => ask("gemini-too"));
});
afterAll(async () => {
  await stack?.stop();
  for (const each of [vertex, metadata]) await each?.stop();
  await manifests?.remove();
});

const messages = [{ role: "user", content: "Hello." }] satisfies OpenAI.ChatCompletionMessageParam[];

async function ask(name: string): Promise<string | null | undefined> {
  return (await client.chat.completions.create({ model: name, messages })).choices[0]?.message.content;
}

async function askFor(name: string, ms: number): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const end = Date.now() + ms; Date.now() < end; await sleep(20))
    await ask(name).catch((error: unknown) => failures.push(error));
  return failures;
}

/** Another Model: Envoy fetches a token for it when it gets it. */
async function add(...added: TestModelOfMany[]): Promise<void> {
  await manifests.write([...models(), ...added]);
  await eventually(async () => {
    const served = await client.models.list();
    for (const { name } of added) expect(served.data.map(({ id }) => id)).toContain(name);
  });
}

test("Gemini is asked with the machine's token, streamed or not, by its path and name at Vertex AI", async () => {
  expect(await ask("gemini")).toBe("one two three");
  const stream = await client.chat.completions.create({ model: "gemini", messages, stream: true });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  expect(text).toBe("one two three");
  expect(new Set(asked.map(({ token }) => token)).size).toBe(1);
  for (const { token, path, body } of asked) {
    expect(metadata.isValid(token)).toBe(true);
    expect({ path, body }).toMatchObject({
      path: `${PROJECT}/chat/completions`,
      body: { model: "google/gemini-2.5-pro" },
    });
  }
});

test("the metadata server is asked once for each backend, as it expects to be", async () => {
  expect(metadata.problems).toEqual([]);
  expect(metadata.askedMs).toHaveLength(2);
});

test("a Model whose server is not at Vertex AI gets no token and is not served", async () => {
  await expect(ask("elsewhere")).rejects.toMatchObject({ status: 404 });
  expect(asked).toEqual([]);
});

test("whatever else the metadata server answers, it is asked again each second, and clients get a 503 that costs nothing", async () => {
  const failures = [
    { status: 404, body: "no default service account" },
    { status: 403, body: "forbidden" },
    { status: 302, body: "" },
    { status: 200, body: "<html>" },
    { status: 200, body: "" },
    { status: 200, body: "{}" },
    { status: 200, body: '{"access_token":"abc"}' },
    { status: 200, body: '{"access_token":"abc","expires_in":0}' },
    { status: 200, body: '{"access_token":"a\\r\\nx: y","expires_in":60}' },
    { status: 200, body: '{"access_token":"a\\","expires_in":60}' },
    { status: 500, body: "", delayMs: 500 },
  ];
  metadata.fail(...failures);
  await stack.idle();
  const before = await stack.balanceNanoUsd();
  const askedBefore = metadata.askedMs.length;
  await add(model("without"));
  await expect(ask("without")).rejects.toMatchObject({ status: 503, code: "upstream_unavailable" });
  const anthropic = new Anthropic({ apiKey: stack.apiKey, baseURL: stack.baseUrl, maxRetries: 0 });
  const refused = anthropic.messages.create({ model: "without", max_tokens: 16, messages });
  await expect(refused).rejects.toMatchObject({ status: 503, error: { type: "error", error: { type: "overloaded_error" } } });
  await eventually(() => expect(metadata.askedMs.length).toBe(askedBefore + failures.length), { withinMs: 20_000 });
  const times = metadata.askedMs.slice(askedBefore);
  for (const [index, ms] of times.slice(1).entries()) expect(ms - (times[index] ?? 0)).toBeGreaterThan(900);
  expect(asked).toEqual([]);
  await stack.idle();
  expect(await stack.balanceNanoUsd()).toBe(before);
  metadata.fail();
  expect(await eventually(() => ask("without"))).toBe("one two three");
});

test("a token is replaced before it expires, and no request fails", async () => {
  metadata.issueFor(4);
  await add(model("hasty"));
  await eventually(() => ask("hasty"));
  asked.length = 0;
  expect(await askFor("hasty", 5_000)).toEqual([]);
  expect(new Set(asked.map(({ token }) => token)).size).toBeGreaterThan(1);
});

test("the next backend is asked while there is no token, with its own credential", async () => {
  metadata.fail({ status: 404, body: "" });
  const key = { name: "key", protocol: "chat", url: `http://127.0.0.1:${vertex.port}`, priority: 1, credential: KEY } as const;
  await add(model("with-another", {}, [key]));
  expect(await ask("with-another")).toBe("one two three");
  expect(asked).toMatchObject([{ token: `Bearer ${KEY}`, path: "/v1/chat/completions" }]);
});

test("neither logs nor Envoy's dump show a token", async () => {
  await ask("gemini");
  const token = asked.at(-1)?.token?.slice("Bearer ".length) ?? "";
  const dump = await (await fetch(`${stack.envoyAdminUrl}/config_dump?include_eds`)).text();
  expect(dump).toContain("google~metadata");
  expect(dump).not.toContain(token);
  expect(stack.complaints.join("\n")).not.toContain(token);
});
