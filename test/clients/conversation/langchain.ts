import { ChatAnthropic } from "@langchain/anthropic";
import { type AIMessage, type AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import * as z from "zod";
import { COUNT, given, HELLO, RESULT, WEATHER, type Seen } from "./conversation.ts";

export function langchainOverChat(model: string): Promise<Seen> {
  return converse(new ChatOpenAI({ model, modelKwargs: { reasoning_effort: "high" } }));
}

export function langchainOverResponses(model: string): Promise<Seen> {
  return converse(
    new ChatOpenAI({ model, useResponsesApi: true, zdrEnabled: true, reasoning: { effort: "high", summary: "auto" } }),
  );
}

export function langchainOverMessages(model: string): Promise<Seen> {
  return converse(new ChatAnthropic({ model, maxTokens: 4096, thinking: { type: "enabled", budget_tokens: 1024 } }));
}

const tools = [{ name: "get_weather", description: "Weather of a city", schema: z.object({ city: z.string() }) }];

async function converse(model: ChatOpenAI | ChatAnthropic): Promise<Seen> {
  const answer = await model.invoke(HELLO);
  const chunks: AIMessageChunk[] = await Array.fromAsync(await model.stream(COUNT));
  const whole = chunks.reduce((whole, chunk) => whole.concat(chunk));
  const bound = model.bindTools(tools);
  const question = new HumanMessage(WEATHER);
  const asked = await bound.invoke([question]);
  const call = given(asked.tool_calls?.[0], "call");
  const result = new ToolMessage({ tool_call_id: given(call.id, "call's id"), content: RESULT });
  const after = await bound.invoke([question, asked, result]);
  return {
    text: answer.text,
    pieces: chunks.filter(({ text }) => text !== "").length,
    call: call.args,
    after: after.text,
    reasoning: reasoningOf(answer),
    usage: usageOf(answer),
    streamed: usageOf(whole),
  };
}

function usageOf({ usage_metadata: usage }: AIMessage | AIMessageChunk): [number, number] {
  const { input_tokens: input, output_tokens: output } = given(usage, "usage");
  return [input, output];
}

/** Where each integration puts it. */
function reasoningOf(message: AIMessage | AIMessageChunk): string | null {
  const written = message.additional_kwargs["reasoning_content"];
  if (typeof written === "string") return written;
  const block = message.contentBlocks.find(({ type }) => type === "reasoning");
  return block?.type === "reasoning" ? block.reasoning : null;
}
