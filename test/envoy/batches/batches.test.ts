import { request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import * as z from "zod";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { chatLine, createBatch, openai, refusal, uploadLines, useBatchModels } from "../../support/servers/batch-models.ts";
import { eventually } from "../../support/eventually.ts";

/** Files and batches by OpenAI's SDK, through a real Envoy and into a real ledger (S58). */
const server = useBatchModels();
const { stack } = server;
/** A batch is looked at every second or so. */
const LONG = { withinMs: 60_000, everyMs: 200 };

const line = z.object({
  id: z.string(),
  custom_id: z.string(),
  response: z.object({ status_code: z.int(), request_id: z.string(), body: z.record(z.string(), z.unknown()) }).nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
});

function ended(id: string, apiKey?: string) {
  const client = openai(stack(), apiKey);
  return eventually(async () => {
    const batch = await client.batches.retrieve(id);
    expect(["completed", "failed", "expired", "cancelled"]).toContain(batch.status);
    return batch;
  }, LONG);
}

async function linesOf(fileId: string | null | undefined, apiKey?: string) {
  if (typeof fileId !== "string") return [];
  const text = await (await openai(stack(), apiKey).files.content(fileId)).text();
  return text
    .trim()
    .split("\n")
    .map((each) => line.parse(JSON.parse(each)));
}

/** Text that looks like what Postgres does not take. */
const METADATA = String.raw`\ud83d and \u0000`;

test("a batch runs, each request is charged the batch price once, and its results are a file (S58)", async () => {
  const client = openai(stack());
  const file = await uploadLines(client, [chatLine("one"), chatLine("two"), chatLine("wrong", { model: "no-such-model" })]);
  expect(file).toMatchObject({ object: "file", purpose: "batch", filename: "questions.jsonl", status: "processed" });
  const created = await client.batches.create({
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    metadata: { job: "nightly", pattern: METADATA },
  });
  const metadata = { job: "nightly", pattern: METADATA };
  expect(created).toMatchObject({ object: "batch", status: "validating", metadata, input_file_id: file.id });
  const batch = await ended(created.id);
  expect(batch).toMatchObject({ status: "completed", errors: null, request_counts: { total: 3, completed: 2, failed: 1 } });

  const answers = await linesOf(batch.output_file_id);
  expect(answers.map(({ custom_id }) => custom_id).toSorted()).toEqual(["one", "two"]);
  for (const { response, error } of answers) {
    expect(error).toBeNull();
    expect(response).toMatchObject({ status_code: 200, body: { object: "chat.completion", model: "half" } });
    const rows = await stack().usageOf(response?.request_id ?? "");
    // Half of 10 × 1 and 20 × 4 micro-USD.
    expect(rows).toMatchObject([{ model: "half", outcome: "complete", chargeNanoUsd: 45_000n }]);
    expect(await stack().entriesOf(response?.request_id ?? "")).toEqual([-45_000n]);
  }
  const [wrong] = await linesOf(batch.error_file_id);
  expect(wrong).toMatchObject({
    custom_id: "wrong",
    response: { status_code: 404, body: { error: { code: "model_not_found" } } },
  });
  const output = await client.files.retrieve(batch.output_file_id ?? "");
  expect(output).toMatchObject({ purpose: "batch_output", filename: `${batch.id}_output.jsonl` });
  expect(output.bytes).toBe((await (await client.files.content(output.id)).arrayBuffer()).byteLength);

  const listed = await client.files.list({ purpose: "batch_output" });
  expect(listed.data.map(({ id }) => id)).toContain(output.id);
  expect((await client.batches.list({ limit: 1 })).data.map(({ id }) => id)).toEqual([batch.id]);
  expect(await (await client.files.content(file.id)).text()).toContain("Question one");

  expect(await client.files.delete(output.id)).toEqual({ id: output.id, object: "file", deleted: true });
  expect((await client.batches.retrieve(batch.id)).output_file_id).toBeNull();
  expect((await refusal(client.files.content(output.id))).status).toBe(404);
});

test("numbers of a request keep all their digits (S58)", async () => {
  const seed = "9007199254740993";
  const text = JSON.stringify(chatLine("exact", { seed: "SEED" })).replace('"SEED"', seed);
  const { id } = await createBatch(openai(stack()), [text]);
  expect(await ended(id)).toMatchObject({ status: "completed", request_counts: { completed: 1 } });
  expect(server.bodies.filter((body) => body.includes("Question exact")).join("")).toContain(seed);
});

test("embeddings run in batches, and a Model that takes none refuses (S58)", async () => {
  const client = openai(stack());
  const embed = { method: "POST", url: "/v1/embeddings", body: { model: "vectors", input: "A text." } };
  const { id } = await createBatch(client, [{ custom_id: "v", ...embed }], "/v1/embeddings");
  const batch = await ended(id);
  expect(await linesOf(batch.output_file_id)).toMatchObject([{ custom_id: "v", response: { body: { object: "list" } } }]);
  const single = await ended((await createBatch(client, [chatLine("s", { model: "single" })])).id);
  expect(await linesOf(single.error_file_id)).toMatchObject([
    { response: { status_code: 400, body: { error: { message: expect.stringContaining("does not accept batches") } } } },
  ]);
});

test("a file with mistakes fails with the line of each, and nothing of it runs (S58)", async () => {
  const before = server.bodies.length;
  const { id } = await createBatch(openai(stack()), [
    chatLine("fine"),
    "not json",
    chatLine("fine"),
    chatLine("get", {}, { method: "GET" }),
    chatLine("elsewhere", {}, { url: "/v1/embeddings" }),
    chatLine("streams", { stream: true }),
    chatLine("", {}),
    chatLine("nul\0", {}),
    chatLine("more", {}, { extra: 1 }),
    { custom_id: "bare", method: "POST", url: "/v1/chat/completions" },
    '{"custom_id":"half","method":"POST","url":"/v1/chat/completions","body":{"model":"half"}',
    chatLine("long", { messages: [{ role: "user", content: "x".repeat(9 * 1024 * 1024) }] }),
  ]);
  const batch = await ended(id);
  expect(batch).toMatchObject({ status: "failed", request_counts: { total: 0 } });
  expect(batch.output_file_id).toBeNull();
  const mistakes = (batch.errors?.data ?? []).map(({ line, message }) => [line, message]);
  expect(mistakes).toEqual([
    [2, "The line must be valid JSON."],
    [4, "`method` must be POST."],
    [5, "`url` must be /v1/chat/completions, the endpoint of the batch."],
    [6, "`body.stream` must not be true: batches do not stream answers."],
    [7, "`custom_id` must not be empty."],
    [8, "`custom_id` must be valid text without NUL characters."],
    [9, "The line must have no fields other than custom_id, method, url and body."],
    [10, "`body` must be an object."],
    [11, "The line must be valid JSON."],
    [12, "The line must have at most 8 MiB."],
  ]);
  const twice = await ended((await createBatch(openai(stack()), [chatLine("same"), chatLine("same")])).id);
  expect(twice.errors?.data).toMatchObject([{ line: 2, message: 'The custom_id "same" is used more than once.' }]);
  const empty = await ended((await createBatch(openai(stack()), ["\n\n"])).id);
  expect(empty.errors?.data?.[0]?.message).toContain("no requests");
  expect(server.bodies).toHaveLength(before);
});

test("a canceled batch finishes what is in flight, and says of the rest that it was not sent (S58)", async () => {
  const client = openai(stack());
  server.hold(1_500);
  try {
    const names = Array.from({ length: 12 }, (_, index) => `c${index}`);
    const { id } = await createBatch(
      client,
      names.map((name) => chatLine(name)),
    );
    await eventually(() => expect(server.bodies.some((body) => body.includes("Question c0"))).toBe(true), LONG);
    expect((await client.batches.cancel(id)).status).toMatch(/^cancell(ing|ed)$/);
    const batch = await ended(id);
    expect(batch.status).toBe("cancelled");
    const done = await linesOf(batch.output_file_id);
    const rest = await linesOf(batch.error_file_id);
    expect(done.length).toBeGreaterThan(0);
    expect([...done, ...rest].map(({ custom_id }) => custom_id).toSorted()).toEqual(names.toSorted());
    expect(rest.every(({ error }) => error?.code === "batch_cancelled")).toBe(true);
    expect((await refusal(client.batches.cancel(id))).message).toContain("has already ended");
  } finally {
    server.hold(0);
  }
});

test("a batch without credit fails, with an answer for each request (S58)", async () => {
  const poor = await stack().createAccount({ name: "poor", creditNanoUsd: 10_000n });
  const { id } = await createBatch(openai(stack(), poor.apiKey), [
    chatLine("a", { model: "dear" }),
    chatLine("b", { model: "dear" }),
  ]);
  const batch = await ended(id, poor.apiKey);
  expect(batch).toMatchObject({ status: "failed", errors: { data: [{ code: "insufficient_balance" }] } });
  expect(await linesOf(batch.error_file_id, poor.apiKey)).toMatchObject([
    { custom_id: "a", error: { code: "insufficient_balance" } },
    { custom_id: "b", error: { code: "insufficient_balance" } },
  ]);
});

test("an account without credit uploads nothing, and reads and deletes what it has (S58)", async () => {
  const poor = await stack().createAccount({ name: "penniless", creditNanoUsd: 1_000_000n });
  const client = openai(stack(), poor.apiKey);
  const file = await uploadLines(client, [chatLine("a")]);
  await postCredit(stack().database, {
    accountId: poor.accountId,
    kind: "adjust",
    amountNanoUsd: -1_000_000n,
    reference: `spent by ${poor.accountId}`,
  });
  const refused = await Promise.all([
    refusal(uploadLines(client, [chatLine("b")])),
    refusal(client.batches.create({ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" })),
  ]);
  for (const each of refused) expect(each).toMatchObject({ status: 402, message: expect.stringContaining("no credit left") });
  const list = await fetch(`${stack().baseUrl}/v1/messages/batches`, {
    method: "POST",
    headers: { "x-api-key": poor.apiKey, "content-type": "application/json" },
    body: JSON.stringify({ requests: [] }),
  });
  expect([list.status, await list.text()]).toEqual([402, expect.stringContaining('"billing_error"')]);
  expect(await (await client.files.content(file.id)).text()).toContain("Question a");
  expect(await client.files.delete(file.id)).toMatchObject({ deleted: true });
});

test("uploads that stall give their turns to others, and get 408 (S58)", async () => {
  const accounts = await Promise.all(
    ["one", "two", "three", "four"].map((name) => stack().createAccount({ name: `slow-${name}`, creditNanoUsd: 1_000_000n })),
  );
  const slow = accounts.flatMap(({ apiKey }) => [apiKey, apiKey]).map(startUpload);
  try {
    await eventually(async () => {
      const rows = await stack().database.query({
        text: BEGUN,
        values: [accounts.map(({ accountId }) => accountId)],
        row: begun,
      });
      expect(rows).toEqual([{ files: 8 }]);
    }, LONG);
    const quick = await stack().createAccount({ name: "quick", creditNanoUsd: 1_000_000n });
    const file = await uploadLines(openai(stack(), quick.apiKey), [chatLine("quick")]);
    expect(file).toMatchObject({ status: "processed" });
    const refused = await Promise.race(slow.map(({ answer }) => answer));
    expect(refused).toMatchObject({ status: 408, text: expect.stringContaining("slower than 1 MiB a second") });
  } finally {
    for (const { end } of slow) end();
  }
});

const BEGUN = "SELECT count(*)::integer AS files FROM batch_file WHERE account_id = ANY($1) AND NOT is_complete";
const begun = z.strictObject({ files: z.int() });

/** Begins a form, and sends no more of it. */
function startUpload(apiKey: string) {
  const upload = request(`${stack().baseUrl}/v1/files`, {
    method: "POST",
    agent: false,
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": "multipart/form-data; boundary=b",
      "content-length": "1000000",
    },
  });
  upload.write('--b\r\nContent-Disposition: form-data; name="file"; filename="slow.jsonl"\r\n\r\n{');
  const answer = Promise.withResolvers<{ status: number | undefined; text: string }>();
  upload.on("response", (response) => {
    void text(response).then((body) => answer.resolve({ status: response.statusCode, text: body }), answer.reject);
  });
  // Of those that are still open at the end.
  upload.on("error", () => {});
  return { answer: answer.promise, end: () => upload.destroy() };
}

test("a request whose server fails is sent three times, free (S58)", async () => {
  const before = server.bodies.length;
  const batch = await ended((await createBatch(openai(stack()), [chatLine("f", { model: "failing" })])).id);
  expect(await linesOf(batch.error_file_id)).toMatchObject([{ custom_id: "f", response: { status_code: 500 } }]);
  expect(server.bodies.length - before).toBe(3);
  expect(batch.status).toBe("completed");
});

test("a request that is refused again and again does not keep the others of its batch from their answers (S58)", async () => {
  const client = openai(stack());
  const { id } = await createBatch(client, [chatLine("b", { model: "busy" }), chatLine("h1"), chatLine("h2")]);
  await eventually(async () => {
    expect((await client.batches.retrieve(id)).request_counts).toMatchObject({ completed: 2, failed: 0 });
  }, LONG);
  await client.batches.cancel(id);
  const batch = await ended(id);
  expect(await linesOf(batch.output_file_id)).toMatchObject([{ custom_id: "h1" }, { custom_id: "h2" }]);
});

test("a deleted key stops its batches (S58, S24)", async () => {
  const leaving = await stack().createAccount({ name: "leaving", creditNanoUsd: 1_000_000_000n });
  server.hold(1_000);
  try {
    const names = Array.from({ length: 30 }, (_, index) => `k${index}`);
    const { id } = await createBatch(
      openai(stack(), leaving.apiKey),
      names.map((name) => chatLine(name)),
    );
    await eventually(() => expect(server.bodies.some((body) => body.includes("Question k0"))).toBe(true), LONG);
    await leaving.revoke();
    await eventually(async () => {
      const rows = await stack().database.query({
        text: "SELECT state, stopped_by AS reason FROM batch WHERE id = $1",
        values: [id],
        row: z.strictObject({ state: z.string(), reason: z.string().nullable() }),
      });
      expect(rows).toEqual([{ state: "ended", reason: "invalid_api_key" }]);
    }, LONG);
    expect((await refusal(openai(stack(), leaving.apiKey).batches.retrieve(id))).status).toBe(401);
  } finally {
    server.hold(0);
  }
});

test("other accounts' files and batches do not exist (S58)", async () => {
  const stranger = await stack().createAccount({ name: "stranger", creditNanoUsd: 1_000_000n });
  const own = openai(stack());
  const other = openai(stack(), stranger.apiKey);
  const file = await uploadLines(own, [chatLine("mine")]);
  const batch = await ended((await createBatch(own, [chatLine("mine")])).id);
  const refused = await Promise.all([
    refusal(other.files.retrieve(file.id)),
    refusal(other.files.content(file.id)),
    refusal(other.files.delete(file.id)),
    refusal(other.files.content(batch.output_file_id ?? "")),
    refusal(other.batches.create({ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" })),
    refusal(other.batches.retrieve(batch.id)),
    refusal(other.batches.cancel(batch.id)),
    refusal(other.batches.list({ after: batch.id })),
    refusal(other.files.list({ after: file.id })),
  ]);
  expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 404));
  expect((await other.files.list()).data).toEqual([]);
  expect((await other.batches.list()).data).toEqual([]);
});
