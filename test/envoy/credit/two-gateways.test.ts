import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { formatNanoUsd } from "../../../ledger/money.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestCustomer, TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Two Envoys, each with an extproc of its own, and one account that uses both at once. */
let stack: TestProduct;
let second: DataPlane;
let urls: readonly [string, string];
beforeAll(async () => {
  stack = await borrowStack();
  second = await startDataPlane(stack);
  urls = [stack.baseUrl, second.baseUrl];
});
afterAll(async () => {
  await second.stop();
  await stack.stop();
});

const ORDINARY = { model: "modelx-v4-pro", messages: [{ role: "user", content: "Hello." }] };
const SLOW = { model: "modelx-v4-pro", messages: [{ role: "user", content: "Hello. [[sim delay-ms=1500]]" }] };
/** Held at the whole context window, for nobody knows how long the file is. */
const BY_REFERENCE = {
  model: "modelx-v4-pro",
  messages: [{ role: "user", content: [{ type: "file", file: { file_id: "file-123" } }] }],
};

interface Answer {
  status: number;
  retry: string | null;
  text: string;
}

/** A machine that stands still may refuse a request with 503; it is asked again, as SDKs do. */
async function ask(baseUrl: string, customer: TestCustomer, body: object): Promise<Answer> {
  for (let again = 4; ; again--) {
    const answer = await askOnce(baseUrl, customer, body);
    if (answer.status !== 503 || again === 0) return answer;
  }
}

async function askOnce(baseUrl: string, { apiKey }: TestCustomer, body: object): Promise<Answer> {
  const response = await fetch(`${baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(body),
  });
  return { status: response.status, retry: response.headers.get("x-should-retry"), text: await response.text() };
}

/** Refusals state the reason. */
const outcomeOf = ({ status, text }: Answer) => (status === 200 ? status : text);

const times = <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));

/** What the database says of the account once everything is settled, beside what its requests were charged. */
async function books({ accountId }: TestCustomer): Promise<{ balance: bigint; charged: bigint; requests: bigint }> {
  const [row] = await stack.database.query({
    text: `SELECT count(*) AS requests, coalesce(sum(charge_nano_usd), 0)::bigint AS charged FROM usage_event WHERE account_id = $1`,
    values: [accountId],
    row: z.strictObject({ requests: z.bigint(), charged: z.bigint() }),
  });
  return { balance: await stack.balanceNanoUsd(accountId), charged: row?.charged ?? 0n, requests: row?.requests ?? 0n };
}

test("a request that one gateway refuses uses up no credit of the other (S37)", async () => {
  const customer = await stack.createAccount({ name: "refused-elsewhere", creditNanoUsd: 100_000_000n });
  for (let round = 0; round < 10; round++) {
    const [refused, ...served] = await Promise.all([
      ask(urls[0], customer, BY_REFERENCE),
      ask(urls[1], customer, ORDINARY),
      ask(urls[1], customer, ORDINARY),
    ]);
    expect(refused).toMatchObject({ status: 402, retry: "false" });
    expect(served.map(outcomeOf)).toEqual([200, 200]);
  }
  expect((await ask(urls[0], customer, ORDINARY)).status).toBe(200);
});

test("both serve from one small credit, one request after another, until it is spent, without an overdraft (S30, S37)", async () => {
  const credit = 50_000_000n;
  const customer = await stack.createAccount({ name: "small", creditNanoUsd: credit });
  const long = { ...ORDINARY, messages: [{ role: "user", content: "Go on. [[sim tokens=500]]" }] };
  const answers: Answer[] = [];
  for (let number = 0; number < 16; number++) answers.push(await ask(urls[number % 2 === 0 ? 0 : 1], customer, long));
  const served = answers.findIndex(({ status }) => status === 402);
  expect(served).toBeGreaterThan(2);
  expect(answers.slice(0, served).map(outcomeOf)).toEqual(Array.from({ length: served }, () => 200));
  expect(new Set(answers.slice(served).map(({ status }) => status))).toEqual(new Set([402]));
  await eventually(
    async () => {
      const { balance, charged, requests } = await books(customer);
      expect({ requests, balance }).toEqual({ requests: BigInt(served), balance: credit - charged });
      expect(balance).toBeGreaterThanOrEqual(0n);
    },
    { withinMs: 60_000 },
  );
});

test("a burst on both never holds more than the credit, and requests that must wait are asked to retry (S30, S37)", async () => {
  const credit = 50_000_000n;
  const customer = await stack.createAccount({ name: "burst", creditNanoUsd: credit });
  const answers = await times(100, (index) => ask(urls[index % 2 === 0 ? 0 : 1], customer, SLOW));
  const served = answers.filter(({ status }) => status === 200);
  expect(served.length).toBeGreaterThan(0);
  for (const refused of answers.filter(({ status }) => status !== 200)) {
    expect(refused).toMatchObject({ status: 402, retry: "true" });
  }
  await eventually(async () => {
    const { balance, charged, requests } = await books(customer);
    expect({ requests, balance }).toEqual({ requests: BigInt(served.length), balance: credit - charged });
    expect(balance).toBeGreaterThanOrEqual(0n);
  });
  // The holds of the burst are released on both sides.
  for (const url of urls) await eventually(async () => expect((await ask(url, customer, ORDINARY)).status).toBe(200));
  expect(await checkLedger(stack.database)).toEqual([]);
});

test("credit that is removed stops both within a second (S30)", async () => {
  const customer = await stack.createAccount({ name: "taken", creditNanoUsd: 5_000_000_000n });
  const first = await times(10, (index) => ask(urls[index % 2 === 0 ? 0 : 1], customer, ORDINARY));
  expect(first.map(outcomeOf)).toEqual(first.map(() => 200));
  const { balance } = await eventually(async () => {
    const found = await books(customer);
    expect(found.requests).toBe(10n);
    return found;
  });
  const { accountId } = customer;
  await postCredit(stack.database, { accountId, kind: "adjust", amountNanoUsd: -(balance - 1_000n), reference: "taken away" });
  await eventually(async () => {
    const answers = await Promise.all(urls.map((url) => ask(url, customer, ORDINARY)));
    expect(answers.map(({ status }) => status)).toEqual([402, 402]);
  });
  const answers = await times(100, (index) => ask(urls[index % 2 === 0 ? 0 : 1], customer, ORDINARY));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([402]));
  expect(await checkLedger(stack.database)).toEqual([]);
});

test("each reports the balance after what the other has settled (S29)", async () => {
  const customer = await stack.createAccount({ name: "reported", creditNanoUsd: 5_000_000_000n });
  const readAvailable = async (baseUrl: string) => {
    const response = await fetch(`${baseUrl}/v1/balance`, { headers: { authorization: `Bearer ${customer.apiKey}` } });
    return z.object({ available: z.string() }).parse(await response.json()).available;
  };
  // A lease begins with the first: the others are paid from it, which the other gateway does not hear of.
  for (let requests = 1n; requests <= 3n; requests++) {
    expect((await ask(urls[0], customer, ORDINARY)).status).toBe(200);
    await eventually(async () => expect((await books(customer)).requests).toBe(requests));
  }
  const { balance } = await books(customer);
  for (const url of urls) expect(await readAvailable(url)).toBe(formatNanoUsd(balance));
});
