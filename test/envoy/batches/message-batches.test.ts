import Anthropic from "@anthropic-ai/sdk";
import { readFile } from "node:fs/promises";
import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import * as z from "zod";
import { settleLost } from "../../../extproc/journal/record.ts";
import { createBatchContent } from "../../../ledger/batches/content.ts";
import { parseApiKey } from "../../../ledger/keys/keys.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { settlementOf } from "../../support/billing/ledger.ts";
import { useBatchModels } from "../../support/servers/batch-models.ts";
import { eventually } from "../../support/eventually.ts";

/** Batches of messages by Anthropic's SDK, through a real Envoy and into a real ledger (S58). */
const server = useBatchModels();
const { stack } = server;
const LONG = { withinMs: 60_000, everyMs: 200 };

const anthropic = (apiKey = stack().apiKey) => new Anthropic({ apiKey, baseURL: stack().baseUrl, maxRetries: 0 });

function ask(customId: string, params: object = {}) {
  const messages = [{ role: "user" as const, content: `Question ${customId}` }];
  return { custom_id: customId, params: { model: "half", max_tokens: 100, messages, ...params } };
}

function ended(id: string) {
  return eventually(async () => {
    const batch = await anthropic().messages.batches.retrieve(id);
    expect(batch.processing_status).toBe("ended");
    return batch;
  }, LONG);
}

async function resultsOf(id: string) {
  const results = [];
  for await (const result of await anthropic().messages.batches.results(id)) results.push(result);
  return results;
}

async function post(body: string | Buffer, headers: Record<string, string> = {}) {
  const response = await fetch(`${stack().baseUrl}/v1/messages/batches`, {
    method: "POST",
    headers: { "x-api-key": stack().apiKey, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : new Uint8Array(body),
  });
  const answer = z.looseObject({ type: z.string(), error: z.object({ type: z.string(), message: z.string() }).optional() });
  return { status: response.status, ...answer.parse(await response.json()) };
}

test.for(["anthropic-version", "msgapi-version"])("an unknown %s is refused, as for messages (S4, S58)", async (name) => {
  const headers = { "x-api-key": stack().apiKey, [name]: "2020-01-01" };
  for (const path of ["/v1/messages/batches", "/v1/messages/batches/msgbatch_x", "/v1/messages/batches/msgbatch_x/results"]) {
    const response = await fetch(stack().baseUrl + path, { headers });
    expect(response.status).toBe(400);
    const message = expect.stringContaining(`Send \`${name}: 2023-06-01\` or \`${name}: 2026-10-21\`.`);
    expect(await response.json()).toMatchObject({ type: "error", error: { type: "invalid_request_error", message } });
  }
  expect(await post("{}", { [name]: "2020-01-01" })).toMatchObject({
    status: 400,
    error: { message: expect.stringContaining(name) },
  });
  expect(await post("{}", { [name]: "2026-10-21" })).toMatchObject({ error: { message: expect.not.stringContaining(name) } });
});

test("a batch of messages runs, its results stream, and each is charged the batch price (S58)", async () => {
  const batches = anthropic().messages.batches;
  const created = await batches.create({ requests: [ask("first"), ask("second"), ask("wrong", { model: "no-such-model" })] });
  expect(created).toMatchObject({ type: "message_batch", processing_status: "in_progress", results_url: null, ended_at: null });
  expect(created.request_counts).toEqual({ processing: 3, succeeded: 0, errored: 0, canceled: 0, expired: 0 });
  const batch = await ended(created.id);
  expect(batch.request_counts).toEqual({ processing: 0, succeeded: 2, errored: 1, canceled: 0, expired: 0 });
  const results = await resultsOf(batch.id);
  expect(results).toMatchObject([
    {
      custom_id: "first",
      result: { type: "succeeded", message: { type: "message", model: "half", usage: { output_tokens: 20 } } },
    },
    { custom_id: "second", result: { type: "succeeded" } },
    { custom_id: "wrong", result: { type: "errored", error: { type: "error", error: { type: "not_found_error" } } } },
  ]);
  await stack().idle();
  const charged = await stack().database.query({
    text: "SELECT charge_nano_usd AS charge FROM usage_event WHERE is_batch AND account_id = $1",
    values: [stack().accountId],
    row: z.strictObject({ charge: z.bigint() }),
  });
  expect(charged).toEqual([{ charge: 45_000n }, { charge: 45_000n }]);

  const page = await batches.list({ limit: 1 });
  expect(page.data.map(({ id }) => id)).toEqual([batch.id]);
  expect(await batches.delete(batch.id)).toEqual({ id: batch.id, type: "message_batch_deleted" });
  await expect(batches.retrieve(batch.id)).rejects.toMatchObject({ status: 404 });
});

test("batches are listed newest first, in both directions (S58)", async () => {
  const batches = anthropic().messages.batches;
  const ids = [];
  for (const name of ["l1", "l2", "l3"]) ids.unshift((await batches.create({ requests: [ask(name)] })).id);
  const first = await batches.list({ limit: 2 });
  expect(first).toMatchObject({ has_more: true, first_id: ids[0], last_id: ids[1] });
  expect((await batches.list({ limit: 1, after_id: ids[1] ?? "" })).data.map(({ id }) => id)).toEqual([ids[2]]);
  expect((await batches.list({ limit: 1, before_id: ids[2] ?? "" })).data.map(({ id }) => id)).toEqual([ids[1]]);
  await Promise.all(ids.map(ended));
});

test("a canceled batch of messages ends with a result for each request (S58)", async () => {
  const batches = anthropic().messages.batches;
  server.hold(1_500);
  try {
    const names = Array.from({ length: 8 }, (_, index) => `m${index}`);
    const { id } = await batches.create({ requests: names.map((name) => ask(name)) });
    await eventually(() => expect(server.bodies.some((body) => body.includes("Question m0"))).toBe(true), LONG);
    const early = await fetch(`${stack().baseUrl}/v1/messages/batches/${id}/results`, {
      headers: { "x-api-key": stack().apiKey },
    });
    expect([early.status, await early.text()]).toEqual([400, expect.stringContaining("processing_status")]);
    await expect(batches.delete(id)).rejects.toMatchObject({ status: 400 });
    expect((await batches.cancel(id)).cancel_initiated_at).not.toBeNull();
    const batch = await ended(id);
    expect(batch.request_counts.canceled).toBeGreaterThan(0);
    const results = await resultsOf(id);
    expect(results.map(({ custom_id }) => custom_id)).toEqual(names);
    expect(new Set(results.map(({ result }) => result.type))).toEqual(new Set(["succeeded", "canceled"]));
  } finally {
    server.hold(0);
  }
});

test("lists with mistakes are refused with the place, and leave nothing (S58)", async () => {
  const before = server.bodies.length;
  const wrong = {
    "{}": "must be JSON of the form",
    '{"requests":{}}': "must be JSON of the form",
    '{"requests":[]}': "at least one request",
    '{"requests":[{}{}]}': "must be JSON of the form",
    '{"requests":[1]}': "must be JSON of the form",
    '{"requests":[{"custom_id":"a","params":{"model":"half"}},]}': "must be JSON of the form",
    '{"requests":[{"custom_id":"a","params":{"model":"half"}}]}{}': "must be JSON of the form",
    '{"requests":[{"custom_id":"a","params":{"model":"half"}}],"more":1}': "must be JSON of the form",
    '{"requests":[{"custom_id":"a","params":{"model":"half"}}]': "must be JSON of the form",
    '{"requests":[{"custom_id":"a","params":{"model":"half"': "must be JSON of the form",
    '{"requests":[{"custom_id":"a","params":{"model":half}}]}': "`requests[0]` must be valid JSON.",
    '{"requests":[{"custom_id":"a b","params":{"model":"half"}}]}': "`requests[0].custom_id` must be 1 to 64 letters",
    '{"requests":[{"custom_id":"a","params":{}}]}': "`requests[0].params.model` must be the name of a model.",
    '{"requests":[{"custom_id":"a","params":{"model":"half","stream":true}}]}': "`requests[0].params.stream` must not be true",
    '{"requests":[{"custom_id":"a","params":{"model":"half"},"x":1}]}': "must have no fields other than",
    '{"requests":[{"custom_id":"a","params":{"model":"half"}},{"custom_id":"a","params":{"model":"half"}}]}':
      'custom_id "a" is used',
  };
  for (const [body, message] of Object.entries(wrong)) {
    const { status, error } = await post(body);
    expect([status, error?.type], body).toEqual([400, "invalid_request_error"]);
    expect(error?.message, body).toContain(message);
  }
  expect(await post(Buffer.from([0x7b, 0x22, 0xff]))).toMatchObject({ status: 400 });
  expect(await post("{}", { "content-type": "text/plain" })).toMatchObject({ status: 400 });
  const long = JSON.stringify({ requests: [ask("long", { system: "x".repeat(9 * 1024 * 1024) })] });
  expect((await post(long)).error?.message).toContain("requests[0] is longer than 8 MiB");
  // Spaces between the parts of a list are as good as none.
  const spaced = await post(` { "requests" : [ ${JSON.stringify(ask("spaced"), null, 2)} ] } \n`);
  expect(spaced.status).toBe(200);
  await eventually(() => expect(server.bodies).toHaveLength(before + 1), LONG);
  const kept = await stack().database.query({
    text: "SELECT id FROM batch WHERE account_id = $1 AND state = 'arriving'",
    values: [stack().accountId],
    row: z.strictObject({ id: z.string() }),
  });
  expect(kept).toEqual([]);
});

test("files of Anthropic's SDK are refused in its own format, with the remedy (S58, S17)", async () => {
  const { files } = anthropic().beta;
  const file = new File(["Hello"], "hello.txt");
  const attempts = [() => files.upload({ file }), () => files.list(), () => files.delete("file_1")];
  for (const attempt of attempts)
    await expect(attempt()).rejects.toMatchObject({
      status: 404,
      error: { type: "error", error: { type: "not_found_error", message: expect.stringContaining("source of type `base64`") } },
    });
});

/** A batch of one request that has ended and is charged. @returns its id, and the one under which the request was settled. */
async function endedBatch(name: string): Promise<{ id: string; requestId: string }> {
  const { id } = await anthropic().messages.batches.create({ requests: [ask(name)] });
  await ended(id);
  await stack().idle();
  return { id, requestId: await requestIdOf(id) };
}

async function requestIdOf(id: string): Promise<string> {
  const [sent] = await stack().database.query({
    text: 'SELECT request_id AS "requestId" FROM batch_request WHERE batch_id = $1',
    values: [id],
    row: z.strictObject({ requestId: z.string() }),
  });
  return sent?.requestId ?? "";
}

/** As if the process that sent the request under this id had ended before it stored the result. */
async function restart(id: string, requestId: string, name: string): Promise<void> {
  const pepper = Buffer.from((await readFile(stack().directory.pepper, "utf8")).trim(), "base64");
  const body = createBatchContent(pepper).sealBody({ batchId: id, number: 1 }, Buffer.from(JSON.stringify(ask(name).params)));
  await stack().database.transaction(async (transaction) => {
    await transaction.execute(
      `UPDATE batch_request SET state = 'sent', body = $2, result = NULL, request_id = $3, taken_by = gen_random_uuid(),
         taken_until = now() - interval '1 s' WHERE batch_id = $1`,
      [id, body, requestId],
    );
    await transaction.execute(
      "UPDATE batch SET state = 'running', succeeded = 0, output_bytes = 0, ended_at = NULL WHERE id = $1",
      [id],
    );
  });
}

/** The same, until the request is answered again. */
async function loseResult(id: string, requestId: string, name: string): Promise<void> {
  await restart(id, requestId, name);
  await ended(id);
  expect(await resultsOf(id)).toMatchObject([{ custom_id: name, result: { type: "succeeded" } }]);
  await stack().idle();
}

test("an answer that was charged and then lost with its process is not charged again (S58)", async () => {
  const { id, requestId } = await endedBatch("lost");
  expect(await stack().entriesOf(requestId)).toEqual([-45_000n]);
  const balance = await stack().balanceNanoUsd();
  await loseResult(id, requestId, "lost");
  expect(await stack().entriesOf(requestId)).toEqual([-45_000n]);
  expect(await stack().balanceNanoUsd()).toBe(balance);
});

test("a charge that is still in the journal of a process that has ended is not made twice (S58)", async () => {
  const { database, accountId } = stack();
  const { id } = await endedBatch("journaled");
  const balance = await stack().balanceNanoUsd();
  const requestId = uuidv7();
  await loseResult(id, requestId, "journaled");
  expect(await stack().entriesOf(requestId)).toEqual([-45_000n]);
  // Even if a fallback had answered it.
  const journaled = settlementOf({ accountId, keyId: "key" }, { requestId, backend: "second", chargeNanoUsd: 45_000n });
  await settle(database, [journaled]);
  expect(await stack().entriesOf(requestId)).toEqual([-45_000n]);
  expect(await stack().balanceNanoUsd()).toBe(balance - 45_000n);
});

test.for([503, 500])("an answer that was charged and lost is not charged again after a %i (S58)", async (status) => {
  const name = `lost-${status}`;
  const { id, requestId } = await endedBatch(name);
  const balance = await stack().balanceNanoUsd();
  server.refuse(status);
  await loseResult(id, requestId, name);
  expect(await requestIdOf(id)).toBe(requestId);
  expect(await stack().balanceNanoUsd()).toBe(balance);
});

test.for([503, 500])(
  "nor if its charge is still in the journal of a process that has ended, after a %i (S58)",
  async (status) => {
    const { database, accountId } = stack();
    const name = `journaled-${status}`;
    const { id } = await endedBatch(name);
    const balance = await stack().balanceNanoUsd();
    const requestId = uuidv7();
    server.refuse(status);
    await loseResult(id, requestId, name);
    await settle(database, [settlementOf({ accountId, keyId: "key" }, { requestId, chargeNanoUsd: 45_000n })]);
    expect(await stack().balanceNanoUsd()).toBe(balance - 45_000n);
  },
);

test("a request that failed free of charge pays for its next answer (S58)", async () => {
  const { database, accountId } = stack();
  const { id } = await endedBatch("free");
  const requestId = uuidv7();
  await settle(database, [settlementOf({ accountId, keyId: "key" }, { requestId, chargeNanoUsd: 0n })]);
  await loseResult(id, requestId, "free");
  const next = await requestIdOf(id);
  expect(next).not.toBe(requestId);
  expect(await stack().entriesOf(requestId)).toEqual([]);
  expect(await stack().entriesOf(next)).toEqual([-45_000n]);
});

test("a failure in the journal of a process that has ended makes no answer free (S58)", async () => {
  const { database, accountId } = stack();
  const { id } = await endedBatch("failed");
  const requestId = uuidv7();
  const asked = server.bodies.length;
  server.hold(2_000);
  await restart(id, requestId, "failed");
  await eventually(() => expect(server.bodies.length).toBe(asked + 1), LONG);
  const price = { inputPicoUsd: 1n, cachedInputPicoUsd: 1n, cacheWritePicoUsd: 1n, outputPicoUsd: 1n, unitPicoUsd: 0n };
  const key = parseApiKey(stack().apiKey);
  const keyId = key.kind === "key" ? key.publicId : "";
  const { usage: _usage, ...started } = settlementOf({ accountId, keyId }, { requestId, isBatch: true });
  await settle(database, [settleLost({ ...started, price }, undefined)]);
  server.hold(0);
  await ended(id);
  await stack().idle();
  expect(await requestIdOf(id)).toBe(requestId);
  expect(await stack().entriesOf(requestId)).toEqual([-45_000n]);
  const usage = await fetch(`${stack().baseUrl}/v1/usage/${requestId}`, { headers: { "x-api-key": stack().apiKey } });
  expect(await usage.json()).toMatchObject({ http_status: 200, outcome: "complete", is_batch: true });
});

test("a batch whose day is over ends with what it has (S58)", async () => {
  server.hold(2_000);
  try {
    const names = Array.from({ length: 6 }, (_, index) => `e${index}`);
    const { id } = await anthropic().messages.batches.create({ requests: names.map((name) => ask(name)) });
    await eventually(() => expect(server.bodies.some((body) => body.includes("Question e0"))).toBe(true), LONG);
    await stack().database.execute("UPDATE batch SET due_at = now() WHERE id = $1", [id]);
    const batch = await ended(id);
    expect(batch.request_counts.expired).toBeGreaterThan(0);
    expect(new Set((await resultsOf(id)).map(({ result }) => result.type))).toEqual(new Set(["succeeded", "expired"]));
  } finally {
    server.hold(0);
  }
});

test("what is stored of a batch is encrypted (S58)", async () => {
  const secret = "a sentence that is nowhere else";
  const { id } = await anthropic().messages.batches.create({ requests: [ask("sealed", { system: secret })] });
  await ended(id);
  const rows = await stack().database.query({
    text: "SELECT encode(coalesce(body, '') || coalesce(result, ''), 'escape') AS content FROM batch_request WHERE batch_id = $1",
    values: [id],
    row: z.strictObject({ content: z.string() }),
  });
  expect(rows).toHaveLength(1);
  expect(rows[0]?.content).not.toContain("An answer.");
  expect(rows[0]?.content).not.toContain(secret);
});
