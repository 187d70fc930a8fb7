import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Model servers that repeat the credential that they were sent, in each way in which an error reaches the client. */
const specRow = z.strictObject({ spec: z.string() });
const KEY = "px-live-Zk3v9QmT7wLr2YbN";
let stack: TestProduct;
let provider: RecordingUpstream;
let removeManifests: () => Promise<void>;
let respond: (request: IncomingMessage, response: ServerResponse) => void;

beforeAll(async () => {
  provider = await startRecordingUpstream((request, response) => respond(request, response));
  const url = `http://127.0.0.1:${provider.port}`;
  const backend = (name: string, protocol: "chat" | "messages") => ({ name, protocol, url, credential: KEY });
  const manifests = await makeBackendManifests([
    { name: "over-chat", backends: [backend("a", "chat")] },
    { name: "over-messages", backends: [backend("a", "messages")] },
    { name: "over-both", backends: [backend("a", "chat"), backend("b", "messages")] },
  ]);
  removeManifests = manifests.remove;
  stack = await borrowStack({ manifestsDirectory: manifests.directory });
});
afterAll(async () => {
  await stack?.stop();
  await provider?.stop();
  await removeManifests?.();
});

const MODELS = ["over-chat", "over-messages", "over-both"];
const PATHS = ["/v1/chat/completions", "/v1/messages", "/v1/responses"];
const CASES = MODELS.flatMap((model) => PATHS.map((target) => ({ model, target })));

/** What the client reads, headers and all. */
async function ask({ model, target }: (typeof CASES)[number], stream: boolean): Promise<string> {
  const content =
    target === "/v1/responses" ? { input: "Hello." } : { messages: [{ role: "user", content: "Hello." }], max_tokens: 16 };
  const response = await fetch(stack.baseUrl + target, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model, stream, ...content }),
  });
  return `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`;
}

const credentialOf = ({ headers }: IncomingMessage) => headers.authorization ?? `key ${String(headers["x-api-key"])}`;

test.for(CASES)("a 400 and a 422 that repeat it do not show it: $model by $target", async (each) => {
  for (const status of [400, 422]) {
    respond = (request, response) => {
      const credential = credentialOf(request);
      response.writeHead(status, { "content-type": "application/json", "retry-after": KEY, "x-echo": credential });
      const message = `refused: ${credential}, ?key=${encodeURIComponent(KEY)} and ${KEY.replaceAll("-", "%2D")}`;
      response.end(JSON.stringify({ error: { message, type: "invalid_request_error", param: KEY } }));
    };
    const shown = await ask(each, false);
    expect(shown).toContain("refused: ");
    expect(shown).toContain("[redacted]");
    expect(shown).not.toMatch(/Zk3v9/i);
  }
});

test.for(CASES)("nor does an error in a stream, or in a 200: $model by $target", async (each) => {
  const body = (request: IncomingMessage) =>
    JSON.stringify({ type: "error", error: { type: "invalid_request_error", message: `refused: ${credentialOf(request)}` } });
  respond = (request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    // In two pieces, the second of which begins within the credential.
    const event = `event: error\ndata: ${body(request)}\n\n`;
    const at = event.indexOf("Zk3") + 4;
    response.write(event.slice(0, at));
    setTimeout(() => response.end(event.slice(at)), 50);
  };
  expect(await ask(each, true)).not.toMatch(/Zk3v/i);
  respond = (request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(body(request));
  };
  for (const stream of [true, false]) expect(await ask(each, stream)).not.toMatch(/Zk3v9/i);
});

test("nor does a refused count of tokens", async () => {
  respond = (request, response) => {
    response.writeHead(400, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: `refused: ${credentialOf(request)}`, type: "invalid_request_error" } }));
  };
  const shown = await ask({ model: "over-messages", target: "/v1/messages/count_tokens" }, false);
  expect(shown).toContain("refused: ");
  expect(shown).not.toMatch(/Zk3v9/i);
});

test("it is in no log or stored data; extproc gets only a fingerprint", async () => {
  const rows = await stack.database.query({ text: "SELECT spec::text AS spec FROM model", row: specRow });
  expect(rows.map(({ spec }) => spec).join("\n")).toContain('"fingerprints"');
  expect(rows.map(({ spec }) => spec).join("\n")).not.toMatch(/Zk3v9/i);
  for (const name of await readdir(stack.directory.logs))
    expect(await readFile(path.join(stack.directory.logs, name), "utf8"), name).not.toMatch(/Zk3v9/i);
});
