import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { formatNanoUsd } from "../../../ledger/money.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Answers that report their cost, read by both official SDKs and compared with what the ledger took (S45). */
let stack: TestProduct;
beforeAll(async () => {
  stack = await borrowStack();
});
afterAll(() => stack.stop());

const openai = () => new OpenAI({ apiKey: stack.apiKey, baseURL: `${stack.baseUrl}/v1`, maxRetries: 0 });
const anthropic = () => new Anthropic({ apiKey: stack.apiKey, baseURL: stack.baseUrl, maxRetries: 0 });

const MODELS = ["modelx-v4-pro", "modelx-v4-flash"];
const HELLO = [{ role: "user" as const, content: "Say hello." }];
/** Unknown to both SDKs. */
const COST = { usage: { include: true } };

interface Reported {
  header: string | null;
  cost: unknown;
}

/** @returns what the ledger took, as an answer reports it. */
async function charged(response: Response): Promise<{ header: string; cost: number }> {
  const { chargeNanoUsd } = await onlyRow(stack, response.headers.get("x-request-id") ?? "");
  expect(chargeNanoUsd).toBeGreaterThan(0n);
  const header = formatNanoUsd(chargeNanoUsd);
  return { header, cost: Number(header) };
}

function reported(response: Response, usage: object | null | undefined): Reported {
  return { header: response.headers.get("x-gateway-cost"), cost: Object(usage).cost };
}

describe.for(MODELS)("%s", (model) => {
  test("chat completions", async () => {
    const { data, response } = await openai()
      .chat.completions.create({ model, messages: HELLO, ...COST })
      .withResponse();
    expect(reported(response, data.usage)).toEqual(await charged(response));
  });

  test("a stream of chat completions ends with its usage, although only the cost was asked for", async () => {
    const { data, response } = await openai()
      .chat.completions.create({ model, messages: HELLO, stream: true, ...COST })
      .withResponse();
    const chunks = await Array.fromAsync(data);
    expect(chunks.map(({ usage }) => usage?.total_tokens).filter((tokens) => tokens !== undefined)).toHaveLength(1);
    expect(reported(response, chunks.at(-1)?.usage)).toEqual({ ...(await charged(response)), header: null });
  });

  test("messages", async () => {
    const { data, response } = await anthropic()
      .messages.create({ model, max_tokens: 100, messages: HELLO, ...COST })
      .withResponse();
    expect(reported(response, data.usage)).toEqual(await charged(response));
  });

  test("a stream of messages", async () => {
    const { data, response } = await anthropic()
      .messages.create({ model, max_tokens: 100, messages: HELLO, stream: true, ...COST })
      .withResponse();
    const events = await Array.fromAsync(data);
    const delta = events.find(({ type }) => type === "message_delta");
    expect(reported(response, Object(delta).usage)).toEqual({ ...(await charged(response)), header: null });
  });

  test("without the request for it, the answer has its header alone", async () => {
    const { data, response } = await openai().chat.completions.create({ model, messages: HELLO }).withResponse();
    expect(reported(response, data.usage)).toEqual({ header: (await charged(response)).header, cost: undefined });
  });
});

test.for([false, true])("responses, stream: %s", async (stream) => {
  const response = await openai()
    .responses.create({ model: "modelx-v4-pro", input: "Say hello.", stream, ...COST })
    .asResponse();
  const text = await response.text();
  const last = stream ? /^data: (.*"response\.completed".*)$/m.exec(text)?.[1] : text;
  const json = JSON.parse(last ?? "");
  expect(reported(response, stream ? json.response.usage : json.usage)).toEqual({
    ...(await charged(response)),
    ...(stream && { header: null }),
  });
});

test("embeddings", async () => {
  const { data, response } = await openai()
    .embeddings.create({ model: "modelx-embed", input: "hello", encoding_format: "float", ...COST })
    .withResponse();
  expect(reported(response, data.usage)).toEqual(await charged(response));
});

test("an `include` that is no flag is refused by its name", async () => {
  const odd = { usage: { include: "yes" } };
  const answer = openai().chat.completions.create({ model: "modelx-v4-pro", messages: HELLO, ...odd });
  await expect(answer).rejects.toMatchObject({
    status: 400,
    param: "usage.include",
    message: expect.stringContaining("`usage.include` must be true or false."),
  });
});
