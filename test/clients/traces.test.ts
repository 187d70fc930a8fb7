import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { addMember } from "../../ledger/people/members.ts";
import { createManagementToken } from "../../ledger/people/management-tokens.ts";
import { LOOPBACK } from "../../local/process/ports.ts";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import { createPerson } from "../support/dashboard/people.ts";
import type { TestProduct } from "../support/stacks/product.ts";
import { borrowStack } from "../support/shared-stacks/borrow.ts";

/** Traces from a request to its receiver, which reads them with OpenTelemetry's own messages for Python. */
let stack: TestProduct;
let packages: ClientPackages;
beforeAll(async () => {
  packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  stack = await borrowStack();
});
afterAll(() => stack?.stop());

const span = z.object({
  trace_id: z.string(),
  span_id: z.string(),
  name: z.string(),
  kind: z.number(),
  milliseconds: z.number(),
  status: z.number(),
  scope: z.string(),
  path: z.string(),
  authorization: z.string(),
  resource: z.record(z.string(), z.unknown()),
  attributes: z.record(z.string(), z.unknown()),
});

test("OpenTelemetry's own code reads the spans of a streamed, a whole and a test request (S61)", async () => {
  const received = await startReceiver(3);
  const management = await openManagement();
  const added = z.object({ id: z.string() }).parse(
    await management("/trace-destinations", {
      kind: "langfuse",
      name: "L",
      url: received.url,
      public_key: "pk",
      secret_key: "sk",
    }),
  );
  const ids = [await ask(false), await ask(true)];
  expect(await management(`/trace-destinations/${added.id}/test`, {})).toMatchObject({ accepted: true });
  const spans = z.array(span).parse(await received.spans);
  const whole = spans.find(({ trace_id: id }) => id === ids[0]);
  const streamed = spans.find(({ trace_id: id }) => id === ids[1]);
  const common = {
    name: "chat modelx-v4-flash",
    kind: 3,
    status: 0,
    scope: "model-gateway",
    path: "/api/public/otel/v1/traces",
    authorization: `Basic ${Buffer.from("pk:sk").toString("base64")}`,
    resource: { "service.name": "model-gateway", "gateway.account.id": stack.accountId },
  };
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "modelx-v4-flash",
    "gen_ai.usage.input_tokens": expect.any(Number),
    "gen_ai.usage.output_tokens": expect.any(Number),
    "http.response.status_code": 200,
    "gateway.outcome": "complete",
    "gateway.cost_usd": expect.any(Number),
    "langfuse.observation.type": "generation",
  };
  expect(whole).toMatchObject({ ...common, attributes: { ...attributes, "gen_ai.request.stream": false } });
  expect(streamed).toMatchObject({ ...common, attributes: { ...attributes, "gen_ai.request.stream": true } });
  expect(new URL(stack.baseUrl).hostname).toBe(whole?.attributes["server.address"]);
  expect(streamed?.attributes["gen_ai.response.time_to_first_chunk"]).toBeGreaterThan(0);
  expect(spans.map(({ name }) => name)).toContain("test");
  // A charge is told as the ledger has it.
  const [row] = await stack.usageOf(uuidOf(ids[0] ?? ""));
  expect(whole?.attributes["gateway.cost_usd"]).toBeCloseTo(Number(row?.chargeNanoUsd) / 1e9, 12);
});

/** @returns the request's id as a trace's. */
async function ask(isStream: boolean): Promise<string> {
  const client = new OpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey: stack.apiKey, maxRetries: 0 });
  const messages = [{ role: "user", content: "Hello" }] as const;
  const { data, response } = await client.chat.completions
    .create({ model: "modelx-v4-flash", messages: [...messages], stream: isStream })
    .withResponse();
  if (Symbol.asyncIterator in data) for await (const chunk of data) void chunk;
  return (response.headers.get("x-request-id") ?? "").replaceAll("-", "");
}

function uuidOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

async function openManagement(): Promise<(url: string, body: object) => Promise<unknown>> {
  const { person } = await createPerson(stack.database, "owner-of-traces@example.com");
  const { accountId, database } = stack;
  await addMember(database, { accountId, personId: person.id, role: "owner" });
  const token = { accountId, name: "traces", role: "owner", createdBy: person.id, expiresAt: null } as const;
  const { value } = await createManagementToken(database, token);
  return async (url, body) => {
    const headers = { authorization: `Bearer ${value}`, "content-type": "application/json" };
    const response = await fetch(`${stack.baseUrl}/api/v1${url}`, { method: "POST", headers, body: JSON.stringify(body) });
    return response.json();
  };
}

async function startReceiver(spans: number): Promise<{ url: string; spans: Promise<unknown> }> {
  const program = path.join(import.meta.dirname, "python/traces.py");
  const child = spawn(packages.sdkProgram("python"), [program, String(spans)], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill());
  const lines = createInterface({ input: child.stdout });
  const [port] = await once(lines, "line");
  const printed = once(lines, "line").then(([line]): unknown => JSON.parse(String(line)));
  return { url: `http://${LOOPBACK}:${String(port)}`, spans: printed };
}
