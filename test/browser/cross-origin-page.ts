import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

/** The program of the page in cross-origin.test.ts. */
export interface Asked {
  sdk: "openai" | "anthropic";
  baseUrl: string;
  apiKey: string;
  model: string;
  stream: boolean;
}

interface Answer {
  text: string;
  requestId: string | null;
}

const QUESTION = { role: "user" as const, content: `[[sim say=${encodeURIComponent("Hello, page.")}]]` };
const CLIENT = { dangerouslyAllowBrowser: true, maxRetries: 0 };

async function askOpenai({ baseUrl, apiKey, model, stream }: Asked): Promise<Answer> {
  const { completions } = new OpenAI({ ...CLIENT, baseURL: `${baseUrl}/v1`, apiKey }).chat;
  const { data, response } = await completions.create({ model, stream, messages: [QUESTION] }).withResponse();
  const requestId = response.headers.get("x-request-id");
  if (!("controller" in data)) return { text: data.choices[0]?.message.content ?? "", requestId };
  let text = "";
  for await (const { choices } of data) text += choices[0]?.delta.content ?? "";
  return { text, requestId };
}

async function askAnthropic({ baseUrl, apiKey, model, stream }: Asked): Promise<Answer> {
  const { messages } = new Anthropic({ ...CLIENT, baseURL: baseUrl, apiKey });
  const { data, response } = await messages.create({ model, stream, max_tokens: 200, messages: [QUESTION] }).withResponse();
  const requestId = response.headers.get("request-id");
  if (!("controller" in data))
    return { text: data.content.map((block) => (block.type === "text" ? block.text : "")).join(""), requestId };
  let text = "";
  for await (const event of data)
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
  return { text, requestId };
}

async function ask(asked: Asked) {
  try {
    return { ...(await (asked.sdk === "openai" ? askOpenai(asked) : askAnthropic(asked))), status: null, message: "" };
  } catch (error) {
    const { status = null, message } =
      error instanceof OpenAI.APIError || error instanceof Anthropic.APIError ? error : toError(error);
    return { text: "", requestId: null, status, message };
  }
}

function toError(thrown: unknown): { status?: number; message: string } {
  return { message: String(thrown) };
}

Object.assign(globalThis, { ask });
