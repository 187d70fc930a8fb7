import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import type { ProviderKeyState } from "../../../contract/provider-key.ts";
import { deleteProviderKey, listProviderKeys, setProviderKey } from "../../../ledger/provider-keys/provider-keys.ts";
import { makeBackendManifests, type TestModelOfMany } from "../../support/stacks/backend-manifests.ts";
import { chatLine, createBatch, openai } from "../../support/servers/batch-models.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestCustomer, TestProduct } from "../../support/stacks/product.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Accounts that bring their own keys for providers (S59). */
const GATEWAYS = "px-gateway-Zk3v9QmT7wLr2YbN";
const USAGE = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };
/** Of this usage, at 1 and 4 USD per million tokens. */
const PRICE = 3_000_000n;
/** 0.0001 USD, and 10 % of the price. */
const FEE = 100_000n + 300_000n;
const pricing = { inputPerMillion: "1", outputPerMillion: "4", providerKeyFee: { perRequest: "0.0001", percent: "10" } };
const WHOLE = {
  id: "a",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: USAGE,
};

interface Seen {
  id: string;
  key: string;
  url: string;
}

let server: RecordingUpstream;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestProduct;
let pepper: Buffer;
let ann: TestCustomer;
let eve: TestCustomer;
const seen: Seen[] = [];
beforeEach(() => void (seen.length = 0));

const keyIn = ({ headers }: IncomingMessage) =>
  headers.authorization?.replace("Bearer ", "") ?? String(headers["x-api-key"] ?? "none");

function models(port: number): TestModelOfMany[] {
  const backend = { name: "only", protocol: "chat", url: `http://127.0.0.1:${port}`, credential: GATEWAYS } as const;
  const bringYourOwnKey = { provider: "example" };
  return [
    { name: "keyed", pricing, backends: [{ ...backend, bringYourOwnKey }] },
    {
      name: "several",
      pricing,
      backends: [
        { ...backend, name: "fails", url: `${backend.url}/failing`, bringYourOwnKey },
        { ...backend, name: "answers", url: `${backend.url}/second`, bringYourOwnKey, priority: 1 },
        { ...backend, name: "gateways", url: `${backend.url}/gateways`, priority: 2 },
      ],
    },
    {
      name: "failing",
      pricing,
      backends: [
        { ...backend, name: "fails", url: `${backend.url}/failing`, bringYourOwnKey },
        { ...backend, name: "gateways", url: `${backend.url}/gateways`, priority: 1 },
      ],
    },
    { name: "plain", backends: [backend] },
    {
      name: "batched",
      takesBatches: true,
      pricing: { ...pricing, batch: { percent: 50 } },
      backends: [{ ...backend, bringYourOwnKey }],
    },
  ];
}

beforeAll(async () => {
  const answer: Parameters<typeof startRecordingUpstream>[0] = (request, response, body) => {
    const key = keyIn(request);
    seen.push({ id: String(request.headers["x-request-id"]), key, url: request.url ?? "" });
    const json = { "content-type": "application/json" };
    if (request.url?.startsWith("/failing") === true) return void response.writeHead(500).end();
    if (key.includes("refused"))
      return void response.writeHead(401, json).end(JSON.stringify({ error: { message: `Incorrect API key provided: ${key}` } }));
    if (body.includes("repeat the key"))
      return void response.writeHead(400, json).end(JSON.stringify({ error: { message: `bad request by ${key}` } }));
    response.writeHead(200, json).end(JSON.stringify(WHOLE));
  };
  server = await startRecordingUpstream(answer);
  manifests = await makeBackendManifests(models(server.port));
  stack = await borrowStack({ manifestsDirectory: manifests.directory });
  pepper = Buffer.from((await readFile(stack.directory.pepper, "utf8")).trim(), "base64");
  ann = await stack.createAccount({ name: "ann", creditNanoUsd: 1_000_000_000n });
  eve = await stack.createAccount({ name: "eve", creditNanoUsd: 1_000_000_000n });
});
afterEach(async () => {
  for (const customer of [ann, eve]) await remove(customer);
});
afterAll(async () => {
  await stack?.stop();
  await server?.stop();
  await manifests?.remove();
});

const actorOf = ({ accountId }: TestCustomer) => ({ accountId, personId: null, tokenId: null });

async function enter(customer: TestCustomer, value: string): Promise<void> {
  const origin = `http://127.0.0.1:${server.port}`;
  await setProviderKey(stack.database, actorOf(customer), { provider: "example", origin, value, pepper });
}

async function remove(customer: TestCustomer): Promise<void> {
  const keys = await listProviderKeys(stack.database, customer.accountId);
  for (const { provider } of keys) await deleteProviderKey(stack.database, actorOf(customer), provider);
}

async function reach(customer: TestCustomer, state: ProviderKeyState): Promise<void> {
  await eventually(async () => {
    const keys = await listProviderKeys(stack.database, customer.accountId);
    expect(keys.map((key) => key.state)).toEqual([state]);
  });
}

async function useOwnKey(customer: TestCustomer, value: string): Promise<void> {
  await enter(customer, value);
  await reach(customer, "active");
  await eventually(async () => expect((await ask(customer)).key).toBe(value));
  seen.length = 0;
}

interface Answer {
  id: string;
  status: number;
  text: string;
  /** That the model server got. */
  key: string | undefined;
}

async function ask(
  customer: TestCustomer,
  { model = "keyed", text = "Hello.", path = "/v1/chat/completions" } = {},
): Promise<Answer> {
  const response = await fetch(stack.baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${customer.apiKey}` },
    body: JSON.stringify({ model, max_tokens: 500, messages: [{ role: "user", content: text }] }),
  });
  const id = response.headers.get("x-request-id") ?? "";
  return { id, status: response.status, text: await response.text(), key: seen.find((each) => each.id === id)?.key };
}

const row = z.strictObject({ chargeNanoUsd: z.bigint(), providerKey: z.string().nullable(), inputTokens: z.bigint() });

async function settled(id: string) {
  await stack.usageOf(id);
  const [found] = await stack.database.query({
    text: `SELECT charge_nano_usd AS "chargeNanoUsd", provider_key AS "providerKey", input_tokens AS "inputTokens"
           FROM usage_event WHERE request_id = $1`,
    values: [id],
    row,
  });
  return found;
}

const OWN = { chargeNanoUsd: FEE, providerKey: "example", inputTokens: 1_000n };
const NOT_OWN = { chargeNanoUsd: PRICE, providerKey: null, inputTokens: 1_000n };

test("each account's requests have its own key, and pay the fee; all others have the gateway's, and pay the price (S59)", async () => {
  await Promise.all([enter(ann, "ann-own-key-1"), enter(eve, "eve-own-key-1")]);
  await Promise.all([reach(ann, "active"), reach(eve, "active")]);
  await eventually(async () => expect((await ask(ann)).status).toBe(200));
  await eventually(async () => expect((await ask(eve)).status).toBe(200));
  const customers = [ann, eve, { apiKey: stack.apiKey, accountId: stack.accountId, revoke: async () => {} }];
  const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => ask(customers[i % 3] ?? ann)));
  const keys = ["ann-own-key-1", "eve-own-key-1", GATEWAYS];
  for (const [i, { key, status, id }] of answers.entries()) {
    expect({ key, status }).toEqual({ key: keys[i % 3], status: 200 });
    expect(await settled(id)).toEqual(i % 3 === 2 ? NOT_OWN : OWN);
    expect(await stack.entriesOf(id)).toEqual([i % 3 === 2 ? -PRICE : -FEE]);
  }
});

test("a model without the offer is served as before to an account with a key", async () => {
  await useOwnKey(ann, "ann-own-key-2");
  const { key, status, id } = await ask(ann, { model: "plain" });
  expect({ key, status }).toEqual({ key: GATEWAYS, status: 200 });
  expect(await settled(id)).toEqual(NOT_OWN);
});

test("a replaced key takes the place of the one before without a pause, and a deleted one is used no more (S59)", async () => {
  await useOwnKey(ann, "ann-own-key-3");
  await enter(ann, "ann-own-key-4");
  await eventually(async () => {
    const { key, status } = await ask(ann);
    expect(["ann-own-key-3", "ann-own-key-4"]).toContain(key);
    expect(status).toBe(200);
    expect(key).toBe("ann-own-key-4");
  });
  await remove(ann);
  await eventually(async () => expect((await ask(ann)).key).toBe(GATEWAYS));
  seen.length = 0;
  for (let i = 0; i < 10; i++) await ask(ann);
  expect(seen.map(({ key }) => key)).toEqual(Array.from({ length: 10 }, () => GATEWAYS));
});

test("while keys come and go, a request is charged for the credential that it was sent with, or refused with 503 (S59)", async () => {
  // The key of the test before was deleted a moment ago.
  await eventually(async () => expect((await ask(ann)).key).toBe(GATEWAYS));
  const over = new AbortController();
  const answers: Answer[] = [];
  async function askOn(): Promise<void> {
    while (!over.signal.aborted) answers.push(await ask(ann));
  }
  const asking = Promise.all([askOn(), askOn(), askOn()]);
  const has = (key: string) => eventually(() => expect(seen.at(-1)?.key).toBe(key));
  for (let i = 0; i < 4; i++) {
    await has(GATEWAYS);
    await enter(ann, `ann-own-key-${10 + i}`);
    await has(`ann-own-key-${10 + i}`);
    await remove(ann);
  }
  await has(GATEWAYS);
  over.abort();
  await asking;
  const [refused, answered] = [answers.filter(({ status }) => status === 503), answers.filter(({ status }) => status !== 503)];
  for (const { key, text } of refused)
    expect({ key, text }).toEqual({ key: undefined, text: expect.stringMatching(/own key|cannot accept/) });
  for (const { id, status, key, text } of answered) {
    expect(status, text).toBe(200);
    expect({ key, row: await settled(id) }).toEqual({ key, row: key === GATEWAYS ? NOT_OWN : OWN });
  }
  expect(new Set(answered.map(({ key }) => key)).size).toBe(5);
});

test.for(["/v1/chat/completions", "/v1/messages"])(
  "a key that the provider refuses is told to the caller as the account's own, without the key: %s (S59)",
  async (path) => {
    await enter(ann, "refused-own-key-Tq7");
    await reach(ann, "active");
    const { status, text, id } = await eventually(async () => {
      const answer = await ask(ann, { path });
      expect(answer.status).toBe(403);
      return answer;
    });
    expect(status).toBe(403);
    expect(text).toContain("The provider example refused your account's own key (status 401)");
    expect(text).toContain("replace or delete it in the dashboard");
    expect(text).toContain(path.endsWith("messages") ? '"permission_error"' : '"provider_key_refused"');
    expect(text).not.toContain("refused-own");
    expect(await stack.entriesOf(id)).toEqual([]);
  },
);

test("a key that the provider repeats in an error does not reach the caller", async () => {
  await useOwnKey(ann, "ann-own-key-5");
  const { status, text } = await ask(ann, { text: "repeat the key" });
  expect(status).toBe(400);
  expect(text).toContain("bad request by [redacted]");
  expect(text).not.toContain("ann-own-key-5");
});

test("a key that is a common word changes nothing in the errors of other accounts", async () => {
  await useOwnKey(ann, "bad-request");
  expect((await ask(ann, { text: "repeat the key" })).text).toContain("[redacted] by");
  await remove(ann);
  await useOwnKey(ann, "ann-own-key-7");
  const others = await ask(eve, { text: "repeat the key" });
  expect(others.text).toContain("bad request by [redacted]");
});

test("a request of a batch has the account's own key, too, and pays the fee's share of the batch price (S59, S58)", async () => {
  await useOwnKey(ann, "ann-own-key-8");
  const client = openai(stack, ann.apiKey);
  const { id } = await createBatch(client, [chatLine("own", { model: "batched", max_tokens: 500 })]);
  const { output_file_id } = await eventually(
    async () => {
      const batch = await client.batches.retrieve(id);
      expect(batch.status).toBe("completed");
      return batch;
    },
    { withinMs: 60_000, everyMs: 200 },
  );
  const [, requestId = ""] =
    /"request_id":\s*"([^"]+)"/.exec(await (await client.files.content(output_file_id ?? "")).text()) ?? [];
  expect(seen.map(({ key }) => key)).toEqual(["ann-own-key-8"]);
  // 0.0001 USD, and 10 % of half of the price.
  expect(await settled(requestId)).toEqual({ ...OWN, chargeNanoUsd: 100_000n + PRICE / 20n });
  expect(await stack.entriesOf(requestId)).toEqual([-(100_000n + PRICE / 20n)]);
});

test("with an own key only servers that take it are tried, one after the other", async () => {
  await useOwnKey(ann, "ann-own-key-6");
  const answer = await ask(ann, { model: "several" });
  expect(answer.status, answer.text).toBe(200);
  expect(seen.map(({ url, key }) => ({ url, key }))).toEqual(
    ["/failing", "/second"].map((path) => ({ url: `${path}/v1/chat/completions`, key: "ann-own-key-6" })),
  );
  expect(await settled(answer.id)).toEqual(OWN);
  seen.length = 0;
  expect((await ask(ann, { model: "failing" })).status).toBe(500);
  expect(seen.map(({ key }) => key)).toEqual(["ann-own-key-6"]);
});
