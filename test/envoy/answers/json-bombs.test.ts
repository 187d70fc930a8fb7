import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { eventually } from "../../support/eventually.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Bodies that are all structure: refused in the caller's words before they cost anything, while others are served (S40, docs/decisions/0031). */
const ENDPOINTS = [
  { path: "/v1/chat/completions", list: "messages" },
  { path: "/v1/messages", list: "messages" },
  { path: "/v1/messages/count_tokens", list: "messages" },
  { path: "/v1/responses", list: "input" },
] as const;
const SIZE = 30_000_000;
const many = (piece: string) => piece.repeat(Math.floor(SIZE / piece.length));
const BOMBS = {
  brackets: () => many("["),
  objects: (list: string) => `{"model":"modelx-v4-pro","max_tokens":9,"${list}":[${many("{},")}{}]}`,
  messages: (list: string) => `{"model":"modelx-v4-pro","max_tokens":9,"${list}":[${many('{"role":"user","content":"x"},')}{}]}`,
  "white space": (list: string) => `{"model":"modelx-v4-pro","max_tokens":9,${many(" ")}"${list}":[]}`,
} as const;

let stack: TestProduct;
let payer: string;
let beggar: string;
beforeAll(async () => {
  stack = await borrowStack();
  payer = (await stack.createAccount({ name: "payer", creditNanoUsd: 1_000_000_000n })).apiKey;
  beggar = (await stack.createAccount({ name: "beggar", creditNanoUsd: 0n })).apiKey;
});
afterAll(() => stack.stop());

const errorBody = z.looseObject({ error: z.looseObject({ message: z.string() }) });

/** A client that sends one bomb after another has to wait if others wait for its work (docs/decisions/0033). */
async function sendPatiently(path: string, body: string) {
  return eventually(
    async () => {
      const answer = await send(path, body);
      expect(answer.status).not.toBe(429);
      return answer;
    },
    { withinMs: 60_000, everyMs: 500 },
  );
}

async function send(path: string, body: string, key = stack.apiKey) {
  const response = await fetch(stack.baseUrl + path, { method: "POST", headers: { authorization: `Bearer ${key}` }, body });
  const json: unknown = await response.json();
  return { status: response.status, json };
}

const hello = (list: string) => ({ model: "modelx-v4-pro", max_tokens: 9, [list]: [{ role: "user", content: "Hello." }] });

test.for(ENDPOINTS)(
  "$path refuses each of them with the reason, and a paying account is not affected",
  async ({ path, list }) => {
    const paying = new AbortController();
    const statuses: number[] = [];
    onTestFinished(() => paying.abort());
    const others = (async () => {
      while (!paying.signal.aborted) {
        statuses.push((await send("/v1/chat/completions", JSON.stringify(hello("messages")), payer)).status);
      }
    })();
    // A failure above takes precedence.
    others.catch(() => {});
    for (const [name, bomb] of Object.entries(BOMBS)) {
      const { status, json } = await sendPatiently(path, bomb(list));
      expect([name, status]).toEqual([name, name === "white space" ? 413 : 400]);
      expect(errorBody.parse(json).error.message).toMatch(/more than 100000 JSON values|MiB outside of its long strings/);
    }
    paying.abort();
    await others;
    expect(statuses.length).toBeGreaterThan(0);
    expect(new Set(statuses)).toEqual(new Set([200]));
  },
);

test.for(ENDPOINTS)("$path refuses an account without credit before reading its body", async ({ path, list }) => {
  const { status } = await send(path, JSON.stringify(hello(list)), beggar);
  expect(status).toBe(402);
});
