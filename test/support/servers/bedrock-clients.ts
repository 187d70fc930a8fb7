import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { ChatCompletionStream } from "openai/lib/ChatCompletionStream";
import { expect } from "vitest";
import type { TestProduct } from "../stacks/product.ts";

/** The official SDKs, as clients of the Models of bedrock-models.ts. */

export const CLIENT_NAMES = ["messages", "messages, streamed", "chat", "chat, streamed"] as const;
export type ClientName = (typeof CLIENT_NAMES)[number];
export const STREAMED = ["messages, streamed", "chat, streamed"] as const;
export type StreamedClientName = (typeof STREAMED)[number];

/** What a client read, whatever its protocol. */
interface Read {
  text: string | null | undefined;
  /** Of its tool call. */
  input: unknown;
  model: string;
  /** Tokens: all of the prompt, those that the server read from its cache, and output. */
  usage: { prompt: number; cached: number; output: number };
  requestId: string;
}

/** Of the Bedrock server's complete answer. */
export const ANSWER = {
  text: "Grüße, 世界 🙂",
  input: { city: "Zürich" },
  usage: { prompt: 770, cached: 700, output: 12 },
} satisfies Partial<Read>;
/** The same answer's usage in the ledger. */
export const USAGE = { inputTokens: 20, cachedInputTokens: 700, cacheWriteTokens: 50, outputTokens: 12, reasoningTokens: 0 };

/** How a complete stream ends. */
export const ENDS = { "messages, streamed": /event: message_stop\n/, "chat, streamed": /data: \[DONE\]/ } as const;

const CITY = { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] };
export const QUESTION = [{ role: "user" as const, content: "Wie ist das Wetter? 世界" }];

const message = (model: string) =>
  ({ model, max_tokens: 500, messages: QUESTION, tools: [{ name: "get_weather", input_schema: CITY }] }) satisfies object;
const completion = (model: string) =>
  ({
    model,
    messages: QUESTION,
    tools: [{ type: "function" as const, function: { name: "get_weather", parameters: CITY } }],
  }) satisfies object;

export const openaiOf = ({ apiKey, baseUrl }: TestProduct) => new OpenAI({ apiKey, baseURL: `${baseUrl}/v1`, maxRetries: 0 });
export const anthropicOf = ({ apiKey, baseUrl }: TestProduct) => new Anthropic({ apiKey, baseURL: baseUrl, maxRetries: 0 });

/** Each asks the same question, with the same tool. */
export const CLIENTS = {
  async messages(stack, model) {
    const { data, response } = await anthropicOf(stack).messages.create(message(model)).withResponse();
    return readMessage(data, response);
  },
  async "messages, streamed"(stack, model) {
    const { data, response } = await anthropicOf(stack).messages.stream(message(model)).withResponse();
    return readMessage(await data.finalMessage(), response);
  },
  async chat(stack, model) {
    const { data, response } = await openaiOf(stack).chat.completions.create(completion(model)).withResponse();
    return readCompletion(data, response);
  },
  async "chat, streamed"(stack, model) {
    const request = { ...completion(model), stream: true as const, stream_options: { include_usage: true } };
    const { data, response } = await openaiOf(stack).chat.completions.create(request).withResponse();
    return readCompletion(await ChatCompletionStream.fromReadableStream(data.toReadableStream()).finalChatCompletion(), response);
  },
} as const satisfies Record<ClientName, (stack: TestProduct, model: string) => Promise<Read>>;

function readMessage(answer: Anthropic.Message, { headers }: Response): Read {
  // Bedrock's own figures, in the last event.
  expect(JSON.stringify(answer)).not.toContain("amazon");
  const { content, model, usage } = answer;
  const cached = usage.cache_read_input_tokens ?? 0;
  return {
    text: content.find((block) => block.type === "text")?.text,
    input: content.find((block) => block.type === "tool_use")?.input,
    model,
    usage: {
      prompt: usage.input_tokens + cached + (usage.cache_creation_input_tokens ?? 0),
      cached,
      output: usage.output_tokens,
    },
    requestId: headers.get("request-id") ?? "",
  };
}

function readCompletion({ choices: [choice], model, usage }: OpenAI.ChatCompletion, { headers }: Response): Read {
  const call = choice?.message.tool_calls?.[0];
  return {
    text: choice?.message.content,
    input: call?.type === "function" ? JSON.parse(call.function.arguments) : undefined,
    model,
    usage: {
      prompt: usage?.prompt_tokens ?? 0,
      cached: usage?.prompt_tokens_details?.cached_tokens ?? 0,
      output: usage?.completion_tokens ?? 0,
    },
    requestId: headers.get("x-request-id") ?? "",
  };
}

/** The error of a request that must fail. */
export async function failureOf(client: ClientName, stack: TestProduct, model: string): Promise<unknown> {
  return await CLIENTS[client](stack, model).then(
    () => expect.unreachable(`${client} got an answer`),
    (error: unknown) => error,
  );
}

/** The same question without an SDK, which shows the bytes of a stream. */
export function askForStream(
  client: StreamedClientName,
  { apiKey, baseUrl }: TestProduct,
  { model, headers = {}, fields = {} }: { model: string; headers?: Record<string, string>; fields?: object },
): Promise<Response> {
  const isChat = client.startsWith("chat");
  return fetch(`${baseUrl}/v1/${isChat ? "chat/completions" : "messages"}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}`, ...headers },
    body: JSON.stringify({ ...(isChat ? completion(model) : message(model)), stream: true, ...fields }),
  });
}
