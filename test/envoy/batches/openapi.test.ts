import { beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { chatLine, useBatchModels } from "../../support/servers/batch-models.ts";
import { eventually } from "../../support/eventually.ts";
import { readOpenapi, type OpenapiDocument } from "../../support/dashboard/openapi.ts";

/** Real answers of the endpoints for batches, compared with docs/openapi.yaml (S58). */
const server = useBatchModels();
const { stack } = server;
const LONG = { withinMs: 60_000, everyMs: 200 };
const called = new Set<string>();
let document: OpenapiDocument;
beforeAll(async () => {
  document = await readOpenapi();
});

interface Call {
  id?: string;
  query?: string;
  /** Sent as JSON, unless it is a form. */
  body?: object;
  hasKey?: boolean;
}

/** Calls an operation of the document, and holds the answer against it. @returns its text. */
async function call(operationId: string, status: number, { id = "none", query = "", body, hasKey = true }: Call = {}) {
  const operation = document.operations.find((each) => each.id === operationId);
  if (operation === undefined) throw new Error(`the document has no operation ${operationId}`);
  const isForm = body instanceof FormData;
  const answer = await fetch(stack().baseUrl + operation.path.replace("{id}", id) + query, {
    method: operation.method,
    headers: {
      ...(hasKey ? { authorization: `Bearer ${stack().apiKey}` } : {}),
      ...(body === undefined || isForm ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  expect(answer.status, text).toBe(status);
  const [type = ""] = (answer.headers.get("content-type") ?? "").split(";");
  expect(document.typesOf(operation, status)).toContain(type);
  const validate = type === "application/json" ? document.validatorOf(operation, status) : undefined;
  validate?.(JSON.parse(text));
  expect(validate?.errors ?? [], `${operationId} ${status}`).toEqual([]);
  const promised = document.requiredHeaders(operation, status);
  expect(promised).toEqual(["x-request-id", "request-id"]);
  expect(promised.map((name) => answer.headers.get(name)?.length)).toEqual([36, 36]);
  called.add(`${operationId} ${status < 300}`);
  return text;
}

function idOf(text: string): string {
  return z.looseObject({ id: z.string() }).parse(JSON.parse(text)).id;
}

function formOf(lines: readonly object[], purpose = "batch"): FormData {
  const form = new FormData();
  form.set("purpose", purpose);
  form.set("file", new File([lines.map((line) => JSON.stringify(line)).join("\n")], "questions.jsonl"));
  return form;
}

async function batchOf(lines: readonly object[]) {
  const input_file_id = idOf(await call("uploadFile", 200, { body: formOf(lines) }));
  const body = { input_file_id, endpoint: "/v1/chat/completions", completion_window: "24h", metadata: { job: "nightly" } };
  return { fileId: input_file_id, id: idOf(await call("createBatch", 200, { body })) };
}

function endOf(operationId: string, id: string, isEnd: RegExp) {
  return eventually(async () => {
    const text = await call(operationId, 200, { id });
    expect(text).toMatch(isEnd);
    return text;
  }, LONG);
}

const ask = (custom_id: string) => ({
  custom_id,
  params: { model: "half", max_tokens: 50, messages: [{ role: "user", content: "Hello" }] },
});

test("files and batches answer as described", async () => {
  const { fileId, id } = await batchOf([chatLine("one"), chatLine("wrong", { model: "no-such-model" })]);
  const ended = await endOf("getBatch", id, /"status":"completed"/);
  const { output_file_id } = z.looseObject({ output_file_id: z.string() }).parse(JSON.parse(ended));
  await call("getFile", 200, { id: output_file_id });
  await call("getFileContent", 200, { id: output_file_id });
  await call("listFiles", 200, { query: "?limit=1" });
  await call("listFiles", 200, { query: "?purpose=batch_output&order=asc" });
  const failed = await batchOf([chatLine("streams", { stream: true })]);
  await endOf("getBatch", failed.id, /"status":"failed"/);
  server.hold(1_500);
  const canceled = await batchOf([chatLine("late")]);
  await call("cancelBatch", 200, { id: canceled.id });
  server.hold(0);
  await endOf("getBatch", canceled.id, /"status":"cancelled"/);
  await call("listBatches", 200, { query: "?limit=2" });
  await call("deleteFile", 200, { id: fileId });
  await call("cancelBatch", 400, { id });
});

test("batches of messages answer as described", async () => {
  const id = idOf(await call("createMessageBatch", 200, { body: { requests: [ask("one"), ask("two")] } }));
  await endOf("getMessageBatch", id, /"processing_status":"ended"/);
  await call("getMessageBatchResults", 200, { id });
  server.hold(1_500);
  const canceled = idOf(await call("createMessageBatch", 200, { body: { requests: [ask("late")] } }));
  await call("cancelMessageBatch", 200, { id: canceled });
  server.hold(0);
  await endOf("getMessageBatch", canceled, /"processing_status":"ended"/);
  await call("listMessageBatches", 200, { query: "?limit=1" });
  await call("cancelMessageBatch", 400, { id });
  await call("deleteMessageBatch", 200, { id });
});

test("refusals are as described", async () => {
  await call("uploadFile", 400, { body: formOf([], "fine-tune") });
  await call("listFiles", 400, { query: "?order=best" });
  await call("createBatch", 400, { body: { input_file_id: 1 } });
  await call("listBatches", 400, { query: "?limit=0" });
  await call("createMessageBatch", 400, { body: { requests: [] } });
  await call("listMessageBatches", 400, { query: "?limit=0" });
  for (const { id, statuses } of document.operations.filter(isForBatches)) {
    await call(id, 401, { hasKey: false });
    if (statuses.includes("404") && id !== "createBatch") await call(id, 404);
  }
  await call("createBatch", 404, {
    body: { input_file_id: "file-none", endpoint: "/v1/embeddings", completion_window: "24h" },
  });
});

test("every operation for batches was called, with success and failure", () => {
  const operations = document.operations.filter(isForBatches).flatMap(({ id }) => [`${id} true`, `${id} false`]);
  expect([...called].toSorted()).toEqual(operations.toSorted());
});

function isForBatches({ tags }: { tags: readonly string[] }): boolean {
  return tags.includes("batches");
}
