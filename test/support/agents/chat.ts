import OpenAI from "openai";
import * as z from "zod";
import { AGENT_SYSTEM, AGENT_TOOLS, type Agent, type AgentOptions, type AgentAnswer, type ToolResult } from "./agent.ts";

/** Reasoning as this gateway and others like it send it; the SDK's types do not know it. */
const reasoningDelta = z.looseObject({
  reasoning_content: z.string().nullish(),
  reasoning_details: z.array(z.unknown()).nullish(),
});

interface Gathered {
  thinking: string;
  details: unknown[];
  text: string;
  calls: { id: string; name: string; json: string }[];
  finish: string | null;
}

/** An agent on the chat interface: it joins the chunks itself, since the SDK's helper knows no reasoning. */
export function createChatAgent({ baseUrl, apiKey, model, fetch }: AgentOptions): Agent {
  const client = new OpenAI({ apiKey, baseURL: `${baseUrl}/v1`, maxRetries: 0, fetch });
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "system", content: AGENT_SYSTEM }];
  let open: string[] = [];

  async function send(...more: OpenAI.ChatCompletionMessageParam[]): Promise<AgentAnswer> {
    messages.push(...more);
    const stream = await client.chat.completions.create({
      model,
      stream: true,
      reasoning_effort: "high",
      tools: AGENT_TOOLS.map(({ name, description, schema }) => ({
        type: "function" as const,
        function: { name, description, parameters: schema },
      })),
      messages,
    });
    const gathered = await gather(stream);
    messages.push(toHistory(gathered));
    open = gathered.calls.map(({ id }) => id);
    return {
      thinking: gathered.thinking,
      text: gathered.text,
      calls: gathered.calls.map(({ id, name, json }) => ({ id, name, input: JSON.parse(json) })),
      stop: gathered.finish === "tool_calls" ? "tools" : gathered.finish === "stop" ? "end" : "other",
    };
  }

  return {
    ask: (question) => send({ role: "user", content: question }),
    answer: (results) => send(...results.map((result, index) => toToolMessage(result, open[index] ?? ""))),
  };
}

async function gather(stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<Gathered> {
  const gathered: Gathered = { thinking: "", details: [], text: "", calls: [], finish: null };
  for await (const { choices } of stream) {
    for (const { delta, finish_reason: finish } of choices) {
      const { reasoning_content: thinking, reasoning_details: details } = reasoningDelta.parse(delta);
      gathered.thinking += thinking ?? "";
      gathered.details.push(...(details ?? []));
      gathered.text += delta.content ?? "";
      for (const { index, id, function: called } of delta.tool_calls ?? []) {
        const call = (gathered.calls[index] ??= { id: "", name: "", json: "" });
        call.id += id ?? "";
        call.name += called?.name ?? "";
        call.json += called?.arguments ?? "";
      }
      gathered.finish ??= finish;
    }
  }
  return gathered;
}

function toHistory({ thinking, details, text, calls }: Gathered): OpenAI.ChatCompletionAssistantMessageParam {
  const reasoning = {
    ...(thinking === "" ? {} : { reasoning_content: thinking }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
  };
  return {
    role: "assistant",
    content: text === "" ? null : text,
    ...reasoning,
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, json }) => ({ id, type: "function" as const, function: { name, arguments: json } })),
        }),
  };
}

/** The protocol's types allow only text here; servers that see take images, and the gateway passes them. */
function toToolMessage({ text, image }: ToolResult, id: string): OpenAI.ChatCompletionToolMessageParam {
  const picture = (data: string) => ({ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } });
  const content = [{ type: "text" as const, text }];
  return {
    role: "tool",
    tool_call_id: id,
    content: image === undefined ? content : Object.assign([], [...content, picture(image)]),
  };
}
