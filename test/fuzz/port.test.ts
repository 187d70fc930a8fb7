import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestStack, type TestStack } from "../support/stacks/stack.ts";
import { readCorpus } from "./harness-corpus.ts";
import { mutate } from "./harness-mutate.ts";
import { expectSound, fuzz } from "./harness-run.ts";

let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ creditNanoUsd: 1_000_000_000_000_000n });
});
afterAll(() => stack.stop());

/** What the documents name, and what Envoy itself says of bytes that are no request. */
const STATUSES = new Set([200, 302, 303, 304, 400, 401, 403, 404, 405, 408, 413, 415, 426, 429, 431, 501]);
/** A request that lacks its end is waited for; nobody needs to see that to its end. */
const PATIENCE_MS = 5_000;
/** After the first bytes of an answer. */
const SILENCE_MS = 300;
const MAX_WAITING = 64;

test("whatever bytes reach Envoy's port are answered as documented, or not at all (S17, S21)", async () => {
  const corpus = readCorpus("port", { key: stack.apiKey });
  let answered = 0;
  const tries = await fuzz(async (random) => {
    const input = mutate(random, corpus);
    const answer = await exchange(stack.baseUrl, input);
    for (const [, status = ""] of answer.toString("latin1").matchAll(/(?:^|\r\n\r\n)HTTP\/1\.1 (\d{3})/g)) {
      answered++;
      const words = `${JSON.stringify(input.toString("latin1"))}\n${answer.toString("latin1")}`;
      // Envoy asks for the body itself, where the client waits for that.
      const isContinue = status === "100" && /expect/i.test(input.toString("latin1"));
      expect(isContinue || STATUSES.has(Number(status)), words).toBe(true);
    }
    expect(answer.toString("latin1")).not.toMatch(/\bat .*\.ts:\d+|node_modules|postgres:\/\/|ECONN/);
  }, MAX_WAITING);
  expect(answered).toBeGreaterThan(tries / 4);
  await expectSound(stack);
});

/** Sends the bytes and collects what comes back, until the other side closes or is silent for a while. */
async function exchange(baseUrl: string, input: Buffer): Promise<Buffer> {
  const { hostname, port } = new URL(baseUrl);
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const pieces: Buffer[] = [];
  const socket = connect(Number(port), hostname, () => socket.write(input));
  socket.setTimeout(PATIENCE_MS, () => socket.destroy());
  socket.on("data", (piece) => {
    pieces.push(Buffer.from(piece));
    socket.setTimeout(SILENCE_MS);
  });
  // Envoy resets what it cannot read.
  socket.on("error", () => {});
  socket.on("close", () => resolve(Buffer.concat(pieces)));
  return promise;
}
