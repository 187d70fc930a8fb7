import { createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PROTOCOLS, type Protocol } from "../../contract/protocol.ts";
import { makeManifests, SIMULATOR_URLS } from "../support/stacks/manifests-folder.ts";
import { startTestStack, type TestStack } from "../support/stacks/stack.ts";
import { readCorpus } from "./harness-corpus.ts";
import { mutate } from "./harness-mutate.ts";
import { below, pick, seeded } from "../support/random.ts";
import { expectSound, fuzz } from "./harness-run.ts";

let stack: TestStack;
let upstreams: Record<Protocol, Server>;
let removeManifests: () => Promise<void>;
beforeAll(async () => {
  upstreams = {
    chat: await startUpstream("chat"),
    messages: await startUpstream("messages"),
    responses: await startUpstream("responses"),
  };
  const manifests = await makeManifests([
    { name: "modelx-v4-pro", upstream: "chat", url: SIMULATOR_URLS.chat },
    { name: "fuzzed-chat", upstream: "chat", url: `${urlOf(upstreams.chat)}/v1` },
    { name: "fuzzed-messages", upstream: "messages", url: urlOf(upstreams.messages) },
    { name: "fuzzed-responses", upstream: "responses", url: `${urlOf(upstreams.responses)}/v1` },
  ]);
  removeManifests = manifests.remove;
  stack = await startTestStack({ creditNanoUsd: 1_000_000_000_000_000n, manifestsDirectory: manifests.directory });
});
afterAll(async () => {
  await stack.stop();
  for (const server of Object.values(upstreams)) server.close();
  await removeManifests();
});

/** An upstream's own success or refusal of the request; what fails there is one of ours. */
const isDocumented = (status: number): boolean => (status >= 200 && status < 500) || [500, 502, 503, 504, 529].includes(status);
/** Bytes of a server of the client's own protocol go through as they are: also some that come after the end. */
const TERMINAL = {
  chat: /^data: ?\[DONE\]\s*$|^data: ?\{\s*"error":/m,
  messages: /^event: ?(message_stop|error)\s*$|^data: ?\{\s*"type": ?"(message_stop|error)"/m,
  responses:
    /^event: ?(response\.(completed|incomplete|failed)|error)\s*$|^data: ?\{\s*"type": ?"(response\.(completed|incomplete|failed)|error)"/m,
} as const;

test("whatever an upstream answers, the client gets its own protocol, complete or with an error, and the charges agree (S22, S28)", async () => {
  let whole = 0;
  const tries = await fuzz(async (random) => {
    const client = pick(random, PROTOCOLS);
    const model = pick(random, ["fuzzed-chat", "fuzzed-messages", "fuzzed-responses"]);
    const stream = random() < 0.6;
    const answer = await ask(client, { model, stream, seed: below(random, 2 ** 31) });
    if (answer === null) return;
    whole++;
    expect(faultOf(client, answer)).toBeNull();
  });
  expect(whole).toBeGreaterThan(tries / 2);
  await expectSound(stack);
});

interface Answer {
  status: number;
  contentType: string;
  text: string;
}

/** @returns what is wrong with an answer, for the client's protocol. */
function faultOf(client: Protocol, { status, contentType, text }: Answer): string | null {
  if (!isDocumented(status)) return `status ${status}`;
  if (contentType.startsWith("text/event-stream")) return TERMINAL[client].test(text) ? null : `no end: ${text}`;
  return isJson(text) ? null : `${contentType}: ${text}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

interface Asked {
  model: string;
  stream: boolean;
  seed: number;
}

const inMessages = (text: string) => ({ max_tokens: 50, messages: [{ role: "user", content: text }] });
const QUESTIONS = {
  chat: { path: "/v1/chat/completions", body: inMessages },
  messages: { path: "/v1/messages", body: inMessages },
  responses: { path: "/v1/responses", body: (text: string) => ({ max_output_tokens: 50, input: text }) },
} as const;

/** @returns null where the connection broke. */
async function ask(client: Protocol, { model, stream, seed }: Asked): Promise<Answer | null> {
  try {
    const { path, body } = QUESTIONS[client];
    const response = await fetch(stack.baseUrl + path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
      body: JSON.stringify({ model, stream, ...body(`seed=${seed};`) }),
    });
    return {
      status: response.status,
      contentType: response.headers.get("content-type")?.toLowerCase() ?? "",
      text: await response.text(),
    };
  } catch {
    return null;
  }
}

/** Envoy itself puts its error behind the body of such an answer, before the processor sees either. */
const HAS_LONG_STATUS = /^HTTP\/1\.[01] +\d{4}/;

/** Answers with bytes that the request's seed chooses, headers and all. */
async function startUpstream(protocol: Protocol): Promise<Server> {
  const corpus = readCorpus(`upstream-${protocol}`);
  const server = createServer((socket: Socket) => {
    let request = "";
    let isAnswered = false;
    socket.on("data", (piece) => {
      request += piece.toString("latin1");
      const seed = /seed=(\d+);/.exec(request)?.[1];
      if (seed === undefined || isAnswered) return;
      isAnswered = true;
      const random = seeded(Number(seed));
      const answer = random() < 0.1 ? pick(random, corpus) : mutate(random, corpus);
      socket.end(HAS_LONG_STATUS.test(answer.toString("latin1")) ? pick(random, corpus) : answer);
    });
    socket.on("error", () => {});
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await listening;
  return server;
}

function urlOf(server: Server): string {
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the upstream has no port");
  return `http://127.0.0.1:${address.port}`;
}
