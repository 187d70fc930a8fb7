import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import * as z from "zod";
import type { Protocol } from "../../../contract/protocol.ts";
import type { TestProduct } from "../stacks/product.ts";

interface Question {
  model: string;
  prompt: string;
  /** Whether its answer is to be streamed. */
  isStream?: boolean;
  signal?: AbortSignal;
}

interface Read {
  text: string;
  /** Of the protocol. */
  stop: unknown;
  requestId: string;
}

const openaiOf = ({ apiKey, baseUrl }: TestProduct) => new OpenAI({ apiKey, baseURL: `${baseUrl}/v1`, maxRetries: 0 });
const anthropicOf = ({ apiKey, baseUrl }: TestProduct) => new Anthropic({ apiKey, baseURL: baseUrl, maxRetries: 0 });

/** The official SDKs' own way to read an answer or a stream. */
export const READERS = {
  async chat(product, { model, prompt, isStream }) {
    const body = { model, messages: [{ role: "user" as const, content: prompt }] };
    if (!isStream) {
      const { data, response } = await openaiOf(product).chat.completions.create(body).withResponse();
      const [choice] = data.choices;
      return { text: JSON.stringify(choice?.message), stop: choice?.finish_reason, requestId: requestIdOf(response) };
    }
    const { data, response } = await openaiOf(product)
      .chat.completions.create({ ...body, stream: true })
      .withResponse();
    let text = "";
    let stop: unknown;
    for await (const { choices } of data) {
      text += choices.map(({ delta }) => textOf(delta)).join("");
      stop = choices[0]?.finish_reason ?? stop;
    }
    return { text, stop, requestId: requestIdOf(response) };
  },
  async messages(product, { model, prompt, isStream }) {
    const body = { model, max_tokens: 4_096, messages: [{ role: "user" as const, content: prompt }] };
    if (!isStream) {
      const { data, response } = await anthropicOf(product).messages.create(body).withResponse();
      return { text: JSON.stringify(data.content), stop: data.stop_reason, requestId: requestIdOf(response) };
    }
    const stream = anthropicOf(product).messages.stream(body);
    const { response } = await stream.withResponse();
    const message = await stream.finalMessage();
    const text = message.content.map((block) => (block.type === "text" ? block.text : JSON.stringify(block))).join("");
    return { text, stop: message.stop_reason, requestId: requestIdOf(response) };
  },
  async responses(product, { model, prompt, isStream }) {
    const body = { model, input: prompt };
    if (!isStream) {
      const { data, response } = await openaiOf(product).responses.create(body).withResponse();
      return {
        text: JSON.stringify(data.output),
        stop: data.incomplete_details?.reason ?? data.status,
        requestId: requestIdOf(response),
      };
    }
    const { data, response } = await openaiOf(product)
      .responses.create({ ...body, stream: true })
      .withResponse();
    let text = "";
    let stop: unknown;
    for await (const event of data) {
      if ("delta" in event && typeof event.delta === "string") text += event.delta;
      if (event.type === "response.completed" || event.type === "response.incomplete")
        stop = event.response.incomplete_details?.reason ?? event.response.status;
    }
    return { text, stop, requestId: requestIdOf(response) };
  },
} as const satisfies Record<Protocol, (product: TestProduct, question: Question) => Promise<Read>>;

export const requestIdOf = (response: Response) => response.headers.get("x-request-id") ?? "";

function textOf(delta: object): string {
  const { content, reasoning_content: reasoning, tool_calls: calls } = deltaSchema.parse(delta);
  return `${content ?? ""}${reasoning ?? ""}${(calls ?? []).map((call) => call.function.arguments ?? "").join("")}`;
}

const deltaSchema = z.object({
  content: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: z.array(z.object({ function: z.object({ arguments: z.string().optional() }) })).optional(),
});

const BODIES = {
  chat: (content: string) => ({ messages: [{ role: "user", content }] }),
  messages: (content: string) => ({ max_tokens: 4_096, messages: [{ role: "user", content }] }),
  responses: (input: string) => ({ input }),
} as const satisfies Record<Protocol, (text: string) => object>;
const PATHS = { chat: "/v1/chat/completions", messages: "/v1/messages", responses: "/v1/responses" } as const;

/** The same question without an SDK, which shows the answer as it is. */
export function send(
  client: Protocol,
  { apiKey, baseUrl }: TestProduct,
  { model, prompt, isStream = false, signal }: Question,
): Promise<Response> {
  return fetch(baseUrl + PATHS[client], {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, ...BODIES[client](prompt), ...(isStream ? { stream: true } : {}) }),
    signal,
  });
}
