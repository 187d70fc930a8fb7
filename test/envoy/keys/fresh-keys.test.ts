import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { changeKey } from "../../../ledger/keys/key-settings.ts";
import { createApiKey, mintApiKey, rotateApiKey } from "../../../ledger/keys/keys.ts";
import { readPepper } from "../../../local/demo.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestCustomer, TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** A person who makes a key pastes it at once (S24, docs/decisions/0036). */
let stack: TestProduct;
let pepper: Buffer;
let customer: TestCustomer;
beforeAll(async () => {
  stack = await borrowStack();
  pepper = await readPepper(stack.directory.pepper);
  customer = await stack.createAccount({ name: "customer", creditNanoUsd: 1_000_000_000n });
});
afterAll(() => stack.stop());

async function statusOf(key: string): Promise<number> {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "modelx-v4-pro", max_tokens: 20, messages: [{ role: "user", content: "Hello." }] }),
  });
  await response.text();
  return response.status;
}

const makeKey = () => createApiKey(stack.database, { accountId: customer.accountId, name: "fresh", pepper });

const ROUNDS = 10;
const OK = Array.from({ length: ROUNDS }, () => 200);

async function inTurn(work: () => Promise<number>): Promise<number[]> {
  const statuses: number[] = [];
  while (statuses.length < ROUNDS) statuses.push(await work());
  return statuses;
}

test("a new key works from its first request on", async () => {
  expect(await inTurn(async () => statusOf((await makeKey()).value))).toEqual(OK);
});

test("a rotated key's new value works from its first request on", async () => {
  const { publicId, value } = await makeKey();
  expect(await statusOf(value)).toBe(200);
  const rotate = () => rotateApiKey(stack.database, { publicId, pepper, previousUntil: null });
  expect(await inTurn(async () => statusOf((await rotate()).value))).toEqual(OK);
});

test("a re-enabled key works immediately", async () => {
  const { publicId, value } = await makeKey();
  const set = (isDisabled: boolean) => changeKey(stack.database, { accountId: customer.accountId, publicId }, { isDisabled });
  const statuses = await inTurn(async () => {
    await set(true);
    await eventually(async () => expect(await statusOf(value)).toBe(401));
    await set(false);
    return await statusOf(value);
  });
  expect(statuses).toEqual(OK);
});

test("during a flood of invented keys, new and known keys are served, and each invented key is refused", async () => {
  const refusals = new Set<number>();
  const over = new AbortController();
  const flood = Array.from({ length: 100 }, async () => {
    while (!over.signal.aborted) refusals.add(await statusOf(mintApiKey(randomBytes).value));
  });
  const known = await inTurn(() => statusOf(customer.apiKey));
  const fresh = await inTurn(async () => statusOf((await makeKey()).value));
  over.abort();
  await Promise.all(flood);
  expect({ known, fresh, refusals: [...refusals] }).toEqual({ known: OK, fresh: OK, refusals: [401] });
});
