import { setTimeout as sleep } from "node:timers/promises";
import type { ServerResponse } from "node:http";
import OpenAI, { toFile } from "openai";
import { expect } from "vitest";
import * as z from "zod";
import type { TestProduct } from "../stacks/product.ts";
import { backendAt, useScriptedModels } from "./scripted-models.ts";

/**
 * The product in front of a model server for tests of batches. Models whose requests may come in batches: `half`, at half the
 * price of 1 and 4 USD a million tokens; `vectors`, of embeddings; `failing`, whose server fails; `busy`, whose server accepts
 * nothing; `dear`, whose requests cost a lot. `single` takes no batches. Each answer has 10 tokens of input and 20 of output, 20 and 80 micro-USD at the usual price.
 */
export function useBatchModels(): BatchServer {
  let holdMs = 0;
  let refusals: number[] = [];
  const bodies: string[] = [];
  const stack = useScriptedModels(
    async (request, response, body) => {
      bodies.push(body);
      await sleep(holdMs);
      const path = request.url ?? "";
      const refusal = refusals.shift();
      if (refusal !== undefined) return answer(response, refusal, { error: { message: "not now", type: "server_error" } });
      if (path.startsWith("/busy")) return answer(response, 503, { error: { message: "not now", type: "server_error" } });
      if (path.startsWith("/failing")) return answer(response, 500, { error: { message: "broken", type: "server_error" } });
      if (path.endsWith("/embeddings")) return answer(response, 200, VECTORS);
      answer(response, 200, COMPLETION);
    },
    (url) => [
      { name: "half", takesBatches: true, pricing: HALF, backends: [backendAt(url, "answering")] },
      { name: "dear", takesBatches: true, pricing: DEAR, backends: [backendAt(url, "answering")] },
      { name: "busy", takesBatches: true, backends: [backendAt(url, "busy")] },
      { name: "failing", takesBatches: true, backends: [backendAt(url, "failing")] },
      { name: "single", backends: [backendAt(url, "answering")] },
      {
        name: "vectors",
        takesBatches: true,
        interfaces: ["Embeddings"],
        pricing: { inputPerMillion: "1.00" },
        backends: [backendAt(url, "answering")],
      },
    ],
  );
  return {
    stack,
    bodies,
    hold(ms) {
      holdMs = ms;
    },
    refuse(...statuses) {
      refusals = statuses;
    },
  };
}

interface BatchServer {
  stack: () => TestProduct;
  /** What the model server was asked, in order. */
  bodies: string[];
  /** How long it takes from now on. */
  hold(ms: number): void;
  /** Its next answers are errors with these statuses. */
  refuse(...statuses: number[]): void;
}

const HALF = { inputPerMillion: "1.00", outputPerMillion: "4.00", batch: { percent: 50 } };
const DEAR = { inputPerMillion: "1.00", outputPerMillion: "100000.00" };

const COMPLETION = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "inner-model",
  choices: [{ index: 0, message: { role: "assistant", content: "An answer." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
};
const VECTORS = {
  object: "list",
  model: "inner-model",
  data: [{ object: "embedding", index: 0, embedding: [0.5, 0.25] }],
  usage: { prompt_tokens: 10, total_tokens: 10 },
};

function answer(response: ServerResponse, status: number, body: object): void {
  // As many servers write it: over several lines.
  const text = JSON.stringify(body, null, 2);
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) }).end(text);
}

export function openai(stack: TestProduct, apiKey = stack.apiKey): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${stack.baseUrl}/v1`, maxRetries: 0 });
}

/** A line of a file, with the fields that a test changes. */
export function chatLine(customId: string, body: object = {}, changes: object = {}): object {
  const asked = { model: "half", max_tokens: 100, messages: [{ role: "user", content: `Question ${customId}` }], ...body };
  return { custom_id: customId, method: "POST", url: "/v1/chat/completions", body: asked, ...changes };
}

export async function uploadLines(client: OpenAI, lines: readonly (object | string)[]) {
  const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
  return client.files.create({ purpose: "batch", file: await toFile(Buffer.from(text), "questions.jsonl") });
}

/** A batch of these lines. */
export async function createBatch(
  client: OpenAI,
  lines: readonly (object | string)[],
  endpoint: "/v1/chat/completions" | "/v1/embeddings" | "/v1/responses" = "/v1/chat/completions",
) {
  const file = await uploadLines(client, lines);
  return client.batches.create({ input_file_id: file.id, endpoint, completion_window: "24h" });
}

/** What the SDK throws. */
export async function refusal(work: PromiseLike<unknown>) {
  const error = await Promise.resolve(work).then(
    () => expect.fail("It was accepted."),
    (thrown: unknown) => thrown,
  );
  return z.object({ status: z.int(), message: z.string() }).parse({ ...Object(error), message: String(error) });
}
