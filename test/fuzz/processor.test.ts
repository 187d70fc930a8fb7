import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { Client, credentials } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ExternalProcessor, ProcessingRequestSchema } from "../../runtime/gen/envoy/service/ext_proc/v3/external_processor_pb.js";
import { startDataPlane, type DataPlane } from "../support/stacks/data-plane.ts";
import { eventually } from "../support/eventually.ts";
import { scrape } from "../support/stacks/metrics.ts";
import { startTestStack, type TestStack } from "../support/stacks/stack.ts";
import { readCorpus } from "./harness-corpus.ts";
import { mutate } from "./harness-mutate.ts";
import { below, pick, type Random } from "../support/random.ts";
import { expectSound, fuzz } from "./harness-run.ts";

let stack: TestStack;
let plane: DataPlane;
let client: Client;
beforeAll(async () => {
  stack = await startTestStack({ creditNanoUsd: 1_000_000_000_000_000n });
  plane = await startDataPlane(stack);
  client = new Client(plane.extprocAddress, credentials.createInsecure());
});
afterAll(async () => {
  client.close();
  await plane.stop();
  await stack.stop();
});

type Step = MessageInitShape<typeof ProcessingRequestSchema>;

const PATH = `/${ExternalProcessor.typeName}/Process`;
const NO_MORE_ANSWERS_MS = 200;

test("whatever messages the processor gets, in whatever order, it continues, leaks nothing and charges correctly", async () => {
  const parts = readParts(stack.apiKey);
  let answers = 0;
  await fuzz(async (random) => {
    const steps = shuffleSome(random, exchangeOf(random, parts));
    answers += await converse(steps.map((step) => garble(random, step)));
  });
  expect(answers).toBeGreaterThan(0);
  // This client loses the reset of a stream that it cancels as it opens it; a sweep finds such streams.
  const IN_TIME = { withinMs: 40_000 };
  await eventually(async () => {
    const metrics = await scrape(plane.extprocAdminUrl);
    expect([
      metrics.get("gateway_open_streams"),
      metrics.get("gateway_open_holds"),
      metrics.get("gateway_queued_settlements"),
    ]).toEqual([0, 0, 0]);
  }, IN_TIME);
  const good = await fetch(`${plane.baseUrl}/v1/models`, { headers: { "x-api-key": stack.apiKey } });
  expect(good.status).toBe(200);
  await expectSound(stack);
});

interface Parts {
  requests: { headers: [string, string][]; body: Buffer }[];
  responses: { headers: [string, string][]; body: Buffer }[];
}

/** The same examples that go to Envoy's port, as Envoy would hand them on. */
function readParts(key: string): Parts {
  const requests = readCorpus("port", { key }).map((bytes) => {
    const { first, headers, body } = split(bytes);
    const [method = "", path = ""] = first.split(" ");
    return {
      headers: [[":method", method], [":path", path], [":authority", "gateway.example"], ...headers] satisfies [string, string][],
      body,
    };
  });
  const responses = [...readCorpus("upstream-chat"), ...readCorpus("upstream-messages")].map((bytes) => {
    const { first, headers, body } = split(bytes);
    return { headers: [[":status", first.split(" ")[1] ?? ""], ...headers] satisfies [string, string][], body };
  });
  return { requests, responses };
}

function split(bytes: Buffer): { first: string; headers: [string, string][]; body: Buffer } {
  const end = bytes.indexOf("\r\n\r\n");
  const [first = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { first, headers, body: bytes.subarray(end + 4) };
}

/** One request as Envoy tells of it, with changed bytes here and there. */
function exchangeOf(random: Random, { requests, responses }: Parts): Step[] {
  const changed = (bytes: Buffer) => (random() < 0.5 || bytes.length === 0 ? bytes : mutate(random, [bytes]));
  const headersOf = (headers: [string, string][], endOfStream = false) => ({
    headers: {
      headers: headers.map(([key, value]) => ({
        key,
        rawValue: random() < 0.9 ? Buffer.from(value, "latin1") : changed(Buffer.from(value, "latin1")),
      })),
    },
    endOfStream,
  });
  const request = pick(random, requests);
  const response = pick(random, responses);
  const body = changed(response.body);
  const cut = below(random, body.length + 1);
  return [
    { request: { case: "requestHeaders", value: headersOf(request.headers, request.body.length === 0) } },
    { request: { case: "requestBody", value: { body: changed(request.body), endOfStream: true } } },
    { request: { case: "responseHeaders", value: headersOf(response.headers, random() < 0.05) } },
    { request: { case: "responseBody", value: { body: body.subarray(0, cut), endOfStream: false } } },
    { request: { case: "responseBody", value: { body: body.subarray(cut), endOfStream: random() < 0.9 } } },
  ];
}

function shuffleSome(random: Random, steps: readonly Step[]): Step[] {
  const order = [...steps];
  if (random() < 0.1) order.splice(below(random, order.length), 1);
  if (random() < 0.1) order.push(pick(random, order));
  if (random() < 0.1) order.unshift(pick(random, order));
  if (random() < 0.1) order.reverse();
  return random() < 0.2 ? order.slice(0, below(random, order.length + 1)) : order;
}

function garble(random: Random, step: Step): Buffer {
  const bytes = Buffer.from(toBinary(ProcessingRequestSchema, create(ProcessingRequestSchema, step)));
  return random() < 0.03 && bytes.length > 0 ? mutate(random, [bytes]) : bytes;
}

/** Sends a message whenever the one before is answered, or is not for a while. @returns how many answers came. */
async function converse(messages: readonly Buffer[]): Promise<number> {
  const same = (bytes: Buffer) => bytes;
  const call = client.makeBidiStreamRequest(PATH, same, same);
  let answers = 0;
  let isOver = false;
  let wake: () => void = () => {};
  call.on("data", () => {
    answers++;
    wake();
  });
  for (const event of ["error", "end", "close"]) {
    call.on(event, () => {
      isOver = true;
      wake();
    });
  }
  for (const message of messages) {
    if (isOver) break;
    const { promise: answered, resolve } = Promise.withResolvers<void>();
    wake = resolve;
    const timer = setTimeout(resolve, NO_MORE_ANSWERS_MS);
    call.write(message);
    await answered;
    clearTimeout(timer);
  }
  if (answers % 3 === 0) call.cancel();
  else call.end();
  return answers;
}
