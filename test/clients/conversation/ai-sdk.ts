import { createAnthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, streamText, tool, type LanguageModel } from "ai";
import * as z from "zod";
import { COUNT, given, HELLO, RESULT, WEATHER, type Seen } from "./conversation.ts";

type ProviderOptions = Parameters<typeof generateText>[0]["providerOptions"];

export function aiSdkOverChat(model: string, { baseUrl, key }: { baseUrl: string; key: string }): Promise<Seen> {
  const provider = createOpenAICompatible({ name: "gateway", baseURL: baseUrl, apiKey: key, includeUsage: true });
  return converse(provider(model), { gateway: { reasoningEffort: "high" } });
}

/** Its OpenAI provider speaks the Responses interface, and keeps it from storing anything only where it is told so. */
export function aiSdkOverResponses(model: string): Promise<Seen> {
  const providerOptions = { openai: { store: false, forceReasoning: true, reasoningEffort: "high", reasoningSummary: "auto" } };
  return converse(openai(model), providerOptions);
}

/** It reads ANTHROPIC_BASE_URL, too, but wants it with `/v1`. */
export function aiSdkOverMessages(model: string, address: string): Promise<Seen> {
  return converse(createAnthropic({ baseURL: `${address}/v1` })(model), {
    anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } },
  });
}

const tools = {
  get_weather: tool({
    description: "Weather of a city",
    inputSchema: z.object({ city: z.string() }),
    execute: () => RESULT,
  }),
};

async function converse(model: LanguageModel, providerOptions: ProviderOptions): Promise<Seen> {
  const settings = { model, maxOutputTokens: 4096, providerOptions };
  const answer = await generateText({ ...settings, prompt: HELLO });
  const stream = streamText({ ...settings, prompt: COUNT });
  const pieces = await Array.fromAsync(stream.textStream);
  const streamed = await stream.usage;
  const { steps, text } = await generateText({ ...settings, tools, prompt: WEATHER, stopWhen: isStepCount(3) });
  return {
    text: answer.text,
    pieces: pieces.length,
    call: steps[0]?.toolCalls[0]?.input,
    after: text,
    reasoning: answer.reasoningText ?? null,
    usage: [given(answer.usage.inputTokens, "usage"), given(answer.usage.outputTokens, "usage")],
    streamed: [given(streamed.inputTokens, "usage of the stream"), given(streamed.outputTokens, "usage of the stream")],
  };
}
