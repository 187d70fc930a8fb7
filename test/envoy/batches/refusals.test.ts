import { expect, test } from "vitest";
import * as z from "zod";
import { ROUTES_OF_KEYS } from "../../support/dashboard/api-access-table.ts";
import { openai, refusal, useBatchModels } from "../../support/servers/batch-models.ts";

/** Requests about files and batches that are none, through a real Envoy (S58). */
const { stack } = useBatchModels();

test("requests that are no batches are refused with the field (S58, S17)", async () => {
  const client = openai(stack());
  const post = async (path: string, body: string | FormData, headers: Record<string, string> = {}) => {
    const response = await fetch(`${stack().baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${stack().apiKey}`, ...headers },
      body,
    });
    expect(response.headers.get("x-request-id")).not.toBeNull();
    return {
      status: response.status,
      ...z.object({ error: z.looseObject({ message: z.string() }) }).parse(await response.json()),
    };
  };
  const json = { "content-type": "application/json" };
  expect(await post("/v1/batches", "{", json)).toMatchObject({ status: 400, error: { type: "invalid_request_error" } });
  expect(await post("/v1/batches", "{}", json)).toMatchObject({ status: 400, error: { param: "input_file_id" } });
  const wish = { input_file_id: "file-x", endpoint: "/v1/images/generations", completion_window: "24h" };
  expect(await post("/v1/batches", JSON.stringify(wish), json)).toMatchObject({ status: 400, error: { param: "endpoint" } });
  // What Postgres does not take is no id.
  const odd = { ...wish, endpoint: "/v1/chat/completions", input_file_id: "file-\0" };
  expect(await post("/v1/batches", JSON.stringify(odd), json)).toMatchObject({ status: 404, error: { param: "input_file_id" } });
  expect(await refusal(client.files.list({ after: "file-\0" }))).toMatchObject({ status: 404 });
  expect(await refusal(client.batches.list({ after: "batch_\0" }))).toMatchObject({ status: 404 });
  const form = new FormData();
  form.set("file", new Blob(["{}"]), "x.jsonl");
  expect(await post("/v1/files", form)).toMatchObject({ status: 400, error: { param: "purpose" } });
  form.set("purpose", "fine-tune");
  expect(await post("/v1/files", form)).toMatchObject({ status: 400, error: { param: "purpose" } });
  expect(await post("/v1/files", "{}", json)).toMatchObject({ status: 400 });
  expect(await post("/v1/files", "x", { "content-type": "multipart/form-data; boundary=b" })).toMatchObject({ status: 400 });
  expect((await refusal(client.files.retrieve("file-'; DROP TABLE batch; --"))).status).toBe(404);
  expect((await refusal(openai(stack(), "sk-mg-wrong").files.list())).status).toBe(401);
  const unknown = await fetch(`${stack().baseUrl}/v1/files/a/b/c`, { headers: { "x-api-key": stack().apiKey } });
  expect(unknown.status).toBe(404);
  const compressed = await post("/v1/batches", "{}", { ...json, "content-encoding": "gzip" });
  expect(compressed).toMatchObject({ status: 400, error: { param: "content-encoding" } });
});

test("what is wrong with a list's parameters, and what they may be, is said (S58, S17)", async () => {
  const messages = async (path: string) => {
    const response = await fetch(`${stack().baseUrl}${path}`, { headers: { "x-api-key": stack().apiKey } });
    return z.object({ error: z.looseObject({ message: z.string() }) }).parse(await response.json()).error.message;
  };
  const range = (most: string) => `\`limit\` must be a whole number from 1 to ${most}.`;
  expect(await messages("/v1/files?limit=0")).toBe(range("10000"));
  expect(await messages("/v1/batches?limit=many")).toBe(range("100"));
  expect(await messages("/v1/messages/batches?limit=1001")).toBe(range("1000"));
  expect(await messages("/v1/files?order=newest")).toBe("`order` must be asc or desc.");
  expect(await messages("/v1/files?after=a&after=b")).toBe("`after` must be sent only once.");
});

test("OPTIONS is a wrong method of each path, and answered alike (S58, S20)", async () => {
  const allowed = async (method: string, path: string) => {
    const { status, headers } = await fetch(`${stack().baseUrl}${path}`, { method });
    return [status, headers.get("allow")];
  };
  const paths = new Set(ROUTES_OF_KEYS.map((endpoint) => endpoint.replace(/^\w+ /, "").replace(":id", "some-id")));
  expect(paths.size).toBeGreaterThan(8);
  for (const path of paths) {
    const [status, allow] = await allowed("PATCH", path);
    expect(status).toBe(405);
    expect(await allowed("OPTIONS", path), path).toEqual([405, allow]);
  }
});

test("a wrong method is 405 with those that a path has (S58, S20)", async () => {
  const send = async (method: string, path: string) => {
    const { status, headers } = await fetch(`${stack().baseUrl}${path}`, { method });
    return [status, headers.get("allow")];
  };
  expect(await send("PUT", "/v1/files?purpose=batch")).toEqual([405, "GET, HEAD, POST"]);
  expect(await send("PATCH", "/v1/files/file-x/")).toEqual([405, "DELETE, GET, HEAD"]);
  expect(await send("GET", "/v1/batches/batch_x/cancel")).toEqual([405, "POST"]);
  expect(await send("POST", "/v1/messages/batches/msgbatch_x/results")).toEqual([405, "GET, HEAD"]);
});

test("no client can have the batch price by sending what the gateway sends itself (S58)", async () => {
  const forged = Buffer.from(JSON.stringify(["AAAAAAAAAAAA", crypto.randomUUID(), Date.now() + 60_000])).toString("base64url");
  const response = await fetch(`${stack().baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer batch-${forged}.${"A".repeat(43)}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "half", messages: [{ role: "user", content: "x" }] }),
  });
  expect(response.status).toBe(401);
});
