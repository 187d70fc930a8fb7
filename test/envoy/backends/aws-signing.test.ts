import OpenAI from "openai";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { freePort } from "../../../local/process/ports.ts";
import { makeBackendManifests, type TestModelOfMany } from "../../support/stacks/backend-manifests.ts";
import { makeCompletion, makeCompletionStream } from "../../support/servers/completions.ts";
import { eventually } from "../../support/eventually.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { checkSignature } from "../../support/servers/signature-v4.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** Model servers of AWS, which check the signature of each request (S49, docs/decisions/0071). */
const REGION = "eu-central-1";
const OLD = { "access-key-id": "AKIDOLD4QmT7wLr2YbNx", "secret-access-key": "oldSecret/k3v9QmT7wLr2YbN+Zx81hPq" };
const NEW = {
  "access-key-id": "ASIANEW4QmT7wLr2YbNx",
  "secret-access-key": "newSecret/k3v9QmT7wLr2YbN+Zx81hPq",
  "session-token": "IQoJb3JpZ2luX2VjEDoaCWV1LWNlbnRyYWwtMSJHMEUCIQD",
};
const WRONG = { ...OLD, "secret-access-key": "wrongSecret/v9QmT7wLr2YbN+Zx81hPq" };
/** That of the machine, from the endpoint below. */
const OWN = {
  AccessKeyId: "ASIAOWN4QmT7wLr2YbNx",
  SecretAccessKey: "ownSecret/k3v9QmT7wLr2YbN+Zx81",
  Token: "token-of-this-machine",
};
const AUTHORIZATION = "the-pod's-own-token";

let server: RecordingUpstream;
let identity: Server;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestStack;
let client: OpenAI;
const asked: { path: string; problem: string | null; token: string | undefined; bodyBytes: number; keyId: string }[] = [];
const known = new Map([OLD, NEW].map((keys) => [keys["access-key-id"], keys["secret-access-key"]]));
known.set(OWN.AccessKeyId, OWN.SecretAccessKey);
beforeEach(() => void (asked.length = 0));

function models(rotating: Readonly<Record<string, string>>): TestModelOfMany[] {
  const url = `http://127.0.0.1:${server.port}/openai`;
  const backend = { name: "first", protocol: "chat", url } as const;
  const aws = (keys: Readonly<Record<string, string>>) => ({ ...backend, aws: { region: REGION, keys } });
  const maxOutputTokens = 100;
  return [
    { name: "rotating", backends: [aws(rotating)], maxOutputTokens },
    { name: "with-version", backends: [{ ...aws(OLD), apiVersion: "2025-04-01" }], maxOutputTokens },
    { name: "refused", backends: [aws(WRONG)], maxOutputTokens },
    {
      name: "two-kinds",
      backends: [aws(WRONG), { ...backend, name: "second", priority: 1, credential: "px-live-Zk3v9QmT7wLr2YbN" }],
      maxOutputTokens,
    },
    { name: "own", backends: [{ ...backend, aws: { region: REGION } }], maxOutputTokens },
  ];
}

beforeAll(async () => {
  server = await startRecordingUpstream((request, response, body) => {
    const isKey = request.headers.authorization === "Bearer px-live-Zk3v9QmT7wLr2YbN";
    const problem = isKey ? null : checkSignature(request, body, { region: REGION, service: "bedrock", secrets: known });
    asked.push({
      path: request.url ?? "",
      problem,
      token: tokenOf(request),
      bodyBytes: Buffer.byteLength(body),
      keyId: keyOf(request),
    });
    if (problem !== null) {
      const message = `The request signature does not match: ${problem}, ${tokenOf(request)}, ${keyOf(request)}`;
      return void response.writeHead(403, { "content-type": "application/json" }).end(JSON.stringify({ message }));
    }
    const isStream = body.includes('"stream":true');
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    response.end(isStream ? makeCompletionStream() : makeCompletion());
  });
  identity = createServer((request, response) => {
    const isAllowed = request.headers.authorization === AUTHORIZATION;
    response.writeHead(isAllowed ? 200 : 403, { "content-type": "application/json" });
    const expiration = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, "");
    response.end(JSON.stringify(isAllowed ? { ...OWN, Expiration: expiration } : {}));
  });
  const identityPort = await freePort();
  identity.listen(identityPort, "127.0.0.1");
  await once(identity, "listening");
  manifests = await makeBackendManifests(models(OLD));
  stack = await startTestStack({
    manifestsDirectory: manifests.directory,
    environment: {
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${identityPort}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN: AUTHORIZATION,
      AWS_EC2_METADATA_DISABLED: "true",
    },
  });
  client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey: stack.apiKey, maxRetries: 0 });
});
afterAll(async () => {
  await stack?.stop();
  await server?.stop();
  identity?.close();
  await manifests?.remove();
});

function tokenOf({ headers }: IncomingMessage): string | undefined {
  return headers["x-amz-security-token"]?.toString();
}

function keyOf({ headers }: IncomingMessage): string {
  return /Credential=([^/]+)/.exec(headers.authorization ?? "")?.[1] ?? "";
}

const messages = [{ role: "user", content: "Grüße, 世界 🙂" }] satisfies OpenAI.ChatCompletionMessageParam[];

async function ask(model: string, content?: string): Promise<string | null | undefined> {
  const body = { model, messages: content === undefined ? messages : [{ role: "user" as const, content }] };
  return (await client.chat.completions.create(body)).choices[0]?.message.content;
}

async function stream(model: string): Promise<string> {
  let text = "";
  for await (const chunk of await client.chat.completions.create({ model, messages, stream: true }))
    text += chunk.choices[0]?.delta.content ?? "";
  return text;
}

test("every request is signed with its body, streamed or not", async () => {
  expect(await ask("rotating")).toBe("one two three");
  expect(await stream("rotating")).toBe("one two three");
  const one = { path: "/openai/v1/chat/completions", problem: null, token: undefined, keyId: OLD["access-key-id"] };
  expect(asked).toMatchObject([one, one]);
});

test("a query is signed as well", async () => {
  expect(await ask("with-version")).toBe("one two three");
  expect(asked).toMatchObject([{ path: "/openai/v1/chat/completions?api-version=2025-04-01", problem: null }]);
});

test("a long prompt is signed whole", async () => {
  await stack.grant(stack.accountId, 100_000_000_000n);
  expect(await ask("rotating", "word ".repeat(4_000_000))).toBe("one two three");
  expect(asked).toMatchObject([{ problem: null }]);
  expect(asked[0]?.bodyBytes).toBeGreaterThan(20_000_000);
});

test("a wrong key is the gateway's fault, not the client's, and costs nothing", async () => {
  await stack.idle();
  const before = await stack.balanceNanoUsd();
  for (const attempt of [ask("refused"), stream("refused")]) {
    const error: unknown = await attempt.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OpenAI.APIError);
    expect(error).toMatchObject({ status: 502, code: "upstream_error" });
    expect(String(error)).toContain("The model server refused the gateway.");
    expect(String(error)).not.toContain(WRONG["access-key-id"]);
  }
  await stack.idle();
  expect(await stack.balanceNanoUsd()).toBe(before);
  expect(asked.map(({ problem }) => problem)).toEqual(["the signature is another", "the signature is another"]);
});

test("the next backend may take a key instead", async () => {
  expect(await ask("two-kinds")).toBe("one two three");
  expect(await stream("two-kinds")).toBe("one two three");
  expect(asked.map(({ problem, keyId }) => ({ problem, keyId }))).toEqual(
    [0, 1].flatMap(() => [
      { problem: "the signature is another", keyId: WRONG["access-key-id"] },
      { problem: null, keyId: "" },
    ]),
  );
});

test("without a Secret, the machine's own identity signs, also after Models have changed", async () => {
  const expected = { problem: null, token: OWN.Token, keyId: OWN.AccessKeyId };
  expect(await ask("own")).toBe("one two three");
  expect(asked).toMatchObject([expected]);
  await manifests.write([
    ...models(OLD),
    { name: "further", backends: [{ name: "a", protocol: "chat", url: "http://127.0.0.1:9" }] },
  ]);
  await eventually(async () => expect((await client.models.list()).data.map(({ id }) => id)).toContain("further"));
  asked.length = 0;
  expect(await stream("own")).toBe("one two three");
  expect(asked).toMatchObject([expected]);
});

test("a rotated Secret signs from then on, with its session token, and no request fails", async () => {
  const failures: unknown[] = [];
  const over = new AbortController();
  const load = (async () => {
    while (!over.signal.aborted) await ask("rotating").catch((error: unknown) => failures.push(error));
  })();
  await manifests.write(models(NEW));
  await eventually(() => expect(asked.at(-1)).toMatchObject({ keyId: NEW["access-key-id"], token: NEW["session-token"] }));
  over.abort();
  await load;
  expect(failures).toEqual([]);
  expect(asked.filter(({ problem }) => problem !== null)).toEqual([]);
});

test("Envoy shows no secret in its dump", async () => {
  const dump = await (await fetch(`${stack.envoyAdminUrl}/config_dump?include_eds`)).text();
  expect(dump).toContain(NEW["access-key-id"]);
  for (const secret of [OLD["secret-access-key"], NEW["secret-access-key"], NEW["session-token"], OWN.SecretAccessKey])
    expect(dump.includes(secret) || dump.includes(JSON.stringify(secret))).toBe(false);
});
