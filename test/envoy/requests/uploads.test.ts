import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { MAX_REQUEST_BYTES } from "../../../contract/headers.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { scrape } from "../../support/stacks/metrics.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Uploads are admitted by their length, at their headers: what nobody has room for is never held (S40, docs/decisions/0031). */
const MEBIBYTE = 1024 * 1024;
const MAX_MIB = 64;
const BEGUN = Buffer.alloc(MEBIBYTE, " ");
const PATHS = ["/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens"] as const;

let stack: TestProduct;
let small: DataPlane;
const keys = new Map<string, string>();
beforeAll(async () => {
  stack = await borrowStack();
  small = await startDataPlane(stack, { MAX_BODY_MIB: String(MAX_MIB) });
  for (const name of ["flood", "second", "payer", "beggar"]) {
    const { apiKey } = await stack.createAccount({ name, creditNanoUsd: name === "beggar" ? 0n : 1_000_000_000n });
    keys.set(name, apiKey);
    await eventually(async () =>
      expect((await fetch(`${small.baseUrl}/v1/balance`, { headers: { "x-api-key": apiKey } })).status).toBe(200),
    );
  }
});
afterAll(async () => {
  await small?.stop();
  await stack?.stop();
});

interface Upload {
  socket: Socket;
  /** The bytes received so far. */
  answer(): string;
}

/** Begins a body, and never ends it. @param bytes of it, as it says; null: it does not say. */
function begin(path: string, { account, bytes }: { account: string; bytes: number | null }): Upload {
  const { hostname, port } = new URL(small.baseUrl);
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.on("data", (piece) => (answer += piece.toString("latin1")));
  onTestFinished(() => void socket.destroy());
  // Envoy closes what it has refused.
  socket.on("error", () => {});
  const length = bytes === null ? "transfer-encoding: chunked" : `content-length: ${bytes}`;
  socket.write(`POST ${path} HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${keys.get(account)}\r\n${length}\r\n\r\n`);
  socket.write(bytes === null ? `${BEGUN.length.toString(16)}\r\n${BEGUN.toString()}\r\n` : BEGUN);
  return { socket, answer: () => answer };
}

const heldBytes = async () => (await scrape(small.extprocAdminUrl)).get("gateway_body_bytes");

function expectRefusal({ answer }: Upload, status: number, text: string) {
  return eventually(() => {
    expect(answer()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer()).toContain(text);
  });
}

async function ask(account: string): Promise<number> {
  const response = await fetch(`${small.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${keys.get(account)}` },
    body: JSON.stringify({ model: "modelx-v4-pro", max_tokens: 9, messages: [{ role: "user", content: "Hello." }] }),
  });
  await response.text();
  return response.status;
}

test.for(PATHS)("%s: a request without credit, or too large, is refused when its body has hardly begun", async (path) => {
  const uploads = [
    begin(path, { account: "beggar", bytes: 30 * MEBIBYTE }),
    begin(path, { account: "flood", bytes: MAX_REQUEST_BYTES + 1 }),
  ] as const;
  await expectRefusal(uploads[0], 402, "balance");
  await expectRefusal(uploads[1], 413, "larger than 32 MiB");
  expect(await heldBytes()).toBe(0);
  for (const { socket } of uploads) socket.destroy();
});

test.for([
  { name: "of known length", bytes: 30 * MEBIBYTE, held: 30 * MEBIBYTE },
  { name: "of unknown length", bytes: null, held: MAX_REQUEST_BYTES },
])(
  "unfinished uploads $name: one account gets its share, the process its bound, and others are served",
  async ({ bytes, held }) => {
    const first = begin("/v1/messages", { account: "flood", bytes });
    await eventually(async () => expect(await heldBytes()).toBe(held));

    // The process sets aside three quarters for large bodies.
    const other = begin("/v1/messages", { account: "second", bytes });
    await expectRefusal(other, 503, "overloaded_error");
    expect(other.answer()).toMatch(/\r\nretry-after: 2\r\n/i);
    const again = begin("/v1/chat/completions", { account: "flood", bytes: 5 * MEBIBYTE });
    await expectRefusal(again, 429, "rate_limit_exceeded");
    expect(again.answer()).toMatch(/\r\nretry-after: 2\r\n/i);
    for (let count = 0; count < 20; count++) expect(await ask("payer")).toBe(200);
    expect(first.answer()).toBe("");

    for (const { socket } of [first, other, again]) socket.destroy();
    await eventually(async () => expect(await heldBytes()).toBe(0));
    expect(await ask("flood")).toBe(200);
  },
);

test("a large body is served, and counted until its answer is complete", async () => {
  const content = "a".repeat(20 * MEBIBYTE);
  const response = await fetch(`${small.baseUrl}/v1/messages/count_tokens`, {
    method: "POST",
    headers: { authorization: `Bearer ${keys.get("payer")}` },
    body: JSON.stringify({ model: "modelx-v4-pro", messages: [{ role: "user", content }] }),
  });
  expect(response.status).toBe(200);
  await response.text();
  await eventually(async () => expect(await heldBytes()).toBe(0));
});
