import Anthropic from "@anthropic-ai/sdk";
import { COUNT, given, HELLO, PARAMETERS, RESULT, WEATHER, type Seen } from "./conversation.ts";

export async function anthropicSdk(model: string): Promise<Seen> {
  const { messages } = new Anthropic();
  const settings = { model, max_tokens: 4096 };
  const tools = [{ name: "get_weather", input_schema: PARAMETERS }];
  const answer = await messages.create({
    ...settings,
    messages: [user(HELLO)],
    thinking: { type: "enabled", budget_tokens: 1024 },
  });
  const stream = messages.stream({ ...settings, messages: [user(COUNT)] });
  const events = await Array.fromAsync(stream);
  const { usage: streamed } = await stream.finalMessage();
  const asked = await messages.create({ ...settings, messages: [user(WEATHER)], tools });
  const call = given(
    asked.content.find((block) => block.type === "tool_use"),
    "call",
  );
  const result = { type: "tool_result" as const, tool_use_id: call.id, content: RESULT };
  const turns = [
    user(WEATHER),
    { role: "assistant" as const, content: asked.content },
    { role: "user" as const, content: [result] },
  ];
  const after = await messages.create({ ...settings, messages: turns, tools });
  const thought = answer.content.find((block) => block.type === "thinking");
  return {
    text: textOf(answer),
    pieces: events.filter((event) => event.type === "content_block_delta" && event.delta.type === "text_delta").length,
    call: call.input,
    after: textOf(after),
    reasoning: thought?.thinking ?? null,
    usage: [answer.usage.input_tokens, answer.usage.output_tokens],
    streamed: [streamed.input_tokens, streamed.output_tokens],
  };
}

function textOf({ content }: Anthropic.Message): string {
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
}

function user(content: string) {
  return { role: "user" as const, content };
}
