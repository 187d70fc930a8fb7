import Anthropic from "@anthropic-ai/sdk";
import { AGENT_SYSTEM, AGENT_TOOLS, type Agent, type AgentOptions, type AgentAnswer, type ToolResult } from "./agent.ts";

/** An agent on the messages interface, with its SDK's own stream helper. */
export function createMessagesAgent({ baseUrl, apiKey, model, fetch }: AgentOptions): Agent {
  const client = new Anthropic({ apiKey, baseURL: baseUrl, maxRetries: 0, fetch });
  const messages: Anthropic.MessageParam[] = [];
  let open: string[] = [];

  async function send(content: string | Anthropic.ContentBlockParam[]): Promise<AgentAnswer> {
    messages.push({ role: "user", content });
    const stream = client.messages.stream({
      model,
      max_tokens: 8192,
      system: AGENT_SYSTEM,
      thinking: { type: "adaptive" },
      output_config: { effort: "high" },
      tools: AGENT_TOOLS.map(({ name, description, schema }) => ({ name, description, input_schema: schema })),
      messages,
    });
    const message = await stream.finalMessage();
    messages.push({ role: "assistant", content: message.content });
    const parsed = readMessage(message);
    open = parsed.calls.map(({ id }) => id);
    return parsed;
  }

  return {
    ask: (question) => send(question),
    answer: (results) =>
      send(results.map((result, index) => ({ type: "tool_result", tool_use_id: open[index] ?? "", content: toBlocks(result) }))),
  };
}

function toBlocks({ text, image }: ToolResult): (Anthropic.TextBlockParam | Anthropic.ImageBlockParam)[] {
  const picture = (data: string): Anthropic.ImageBlockParam => ({
    type: "image",
    source: { type: "base64", media_type: "image/png", data },
  });
  return [{ type: "text", text }, ...(image === undefined ? [] : [picture(image)])];
}

function readMessage({ content, stop_reason: reason }: Anthropic.Message): AgentAnswer {
  return {
    thinking: content.map((block) => (block.type === "thinking" ? block.thinking : "")).join(""),
    text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    calls: content.flatMap((block) =>
      block.type === "tool_use" ? [{ id: block.id, name: block.name, input: block.input }] : [],
    ),
    stop: reason === "tool_use" ? "tools" : reason === "end_turn" ? "end" : "other",
  };
}
