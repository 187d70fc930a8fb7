import OpenAI from "openai";
import type {
  ChatCompletionChunk,
  ChatCompletionFunctionTool,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import type { ResponseInput } from "openai/resources/responses/responses";
import { COUNT, given, HELLO, PARAMETERS, RESULT, WEATHER, type Seen } from "./conversation.ts";

export async function openaiOverChat(model: string): Promise<Seen> {
  const { completions } = new OpenAI().chat;
  const tools: ChatCompletionFunctionTool[] = [{ type: "function", function: { name: "get_weather", parameters: PARAMETERS } }];
  const answer = await completions.create({ model, messages: [user(HELLO)], reasoning_effort: "high" });
  const message = given(answer.choices[0], "answer").message;
  const stream = await completions.create({
    model,
    messages: [user(COUNT)],
    stream: true,
    stream_options: { include_usage: true },
  });
  const chunks = await Array.fromAsync<ChatCompletionChunk>(stream);
  const asked = given((await completions.create({ model, messages: [user(WEATHER)], tools })).choices[0], "call").message;
  const call = given(asked.tool_calls?.[0], "call");
  if (call.type !== "function") throw new Error(`The call is of type ${call.type}.`);
  const messages: ChatCompletionMessageParam[] = [user(WEATHER), asked, { role: "tool", tool_call_id: call.id, content: RESULT }];
  const after = given((await completions.create({ model, messages, tools })).choices[0], "answer").message;
  const usage = given(answer.usage, "usage");
  const streamed = given(chunks.at(-1)?.usage, "usage of the stream");
  return {
    text: given(message.content, "text"),
    pieces: chunks.filter(({ choices }) => choices[0]?.delta.content).length,
    call: JSON.parse(call.function.arguments),
    after: given(after.content, "text"),
    reasoning: "reasoning_content" in message ? String(message.reasoning_content) : null,
    usage: [usage.prompt_tokens, usage.completion_tokens],
    streamed: [streamed.prompt_tokens, streamed.completion_tokens],
  };
}

export async function openaiOverResponses(model: string): Promise<Seen> {
  const { responses } = new OpenAI();
  const tools = [{ type: "function" as const, name: "get_weather", parameters: PARAMETERS, strict: false }];
  const answer = await responses.create({ model, input: HELLO, reasoning: { effort: "high", summary: "auto" } });
  const stream = responses.stream({ model, input: COUNT });
  const events = await Array.fromAsync(stream);
  const streamed = given((await stream.finalResponse()).usage, "usage of the stream");
  const input: ResponseInput = [user(WEATHER)];
  const asked = await responses.create({ model, input, tools, include: ["reasoning.encrypted_content"] });
  const call = given(
    asked.output.find((item) => item.type === "function_call"),
    "call",
  );
  // Typed as output, which the service takes as input: so the SDK's own documentation does it.
  const result = { type: "function_call_output" as const, call_id: call.call_id, output: RESULT };
  const after = await responses.create({ model, input: [...input, call, result], tools });
  const thought = answer.output.find((item) => item.type === "reasoning");
  const usage = given(answer.usage, "usage");
  return {
    text: answer.output_text,
    pieces: events.filter(({ type }) => type === "response.output_text.delta").length,
    call: JSON.parse(call.arguments),
    after: after.output_text,
    reasoning: thought?.summary.map(({ text }) => text).join("") ?? null,
    usage: [usage.input_tokens, usage.output_tokens],
    streamed: [streamed.input_tokens, streamed.output_tokens],
  };
}

function user(content: string) {
  return { role: "user" as const, content };
}
