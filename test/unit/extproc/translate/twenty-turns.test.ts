import { describe, expect, test } from "vitest";
import type { Protocol } from "../../../../contract/protocol.ts";
import { createMeter } from "../../../../extproc/meter/meter.ts";
import { rawMember } from "../../../../extproc/protocol/json/scan.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { inputFor, type InputOptions } from "./input.ts";

/**
 * An agent's conversation over every pair: each turn the model thinks, speaks and calls two tools at once, one of
 * which answers with an image. The transcript is what the client saw; the prompts are what the upstream got.
 */
const TURNS = 20;
const PAIRS = [
  ["chat", "chat"],
  ["chat", "messages"],
  ["messages", "chat"],
  ["messages", "messages"],
  ["responses", "chat"],
  ["responses", "messages"],
] as const;
const IMAGE = "iVBORw0KGgo=";

interface Seen {
  thinking: string;
  text: string;
  calls: { name: string; input: unknown }[];
}

interface Conversation {
  transcript: Seen[];
  /** The messages array of each upstream request, as it was written. */
  prompts: string[];
  inputTokens: number[];
}

interface ClientSide {
  ask(turn: number): void;
  /** Takes the answer into the history and sends the tools' results. */
  read(answer: Buffer): Seen;
  request(): object;
}

function converse(client: Protocol, upstream: Protocol): Conversation {
  const side = { chat: chatClient, messages: messagesClient, responses: responsesClient }[client]();
  const options: InputOptions = { upstream, upstreamModel: "m", flags: { thinkingControl: "budget", toolIds: "messages" } };
  const conversation: Conversation = { transcript: [], prompts: [], inputTokens: [] };
  for (let turn = 0; turn < TURNS; turn += 1) {
    side.ask(turn);
    const translation = createTranslation(client, inputFor(side.request(), options));
    const meter = createMeter(1);
    conversation.prompts.push(rawMember(translation.upstream.body, "messages")?.toString() ?? "");
    const answer = upstream === "chat" ? chatAnswer(turn) : messagesAnswer(turn);
    conversation.transcript.push(side.read(translation.response(Buffer.from(JSON.stringify(answer)), meter)));
    conversation.inputTokens.push(meter.final().usage.inputTokens);
  }
  return conversation;
}

function chatAnswer(turn: number): object {
  const call = (id: string, name: string) => ({ id, type: "function", function: { name, arguments: `{"turn":${turn}}` } });
  const calls = [call(`call_${turn}a`, "shoot"), call(`call_${turn}b`, "read")];
  const message = { role: "assistant", content: `Say ${turn}`, reasoning_content: `Think ${turn}`, tool_calls: calls };
  return {
    id: `chatcmpl-${turn}`,
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    usage: { prompt_tokens: 100 + turn, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 50 } },
  };
}

function messagesAnswer(turn: number): object {
  const use = (id: string, name: string) => ({ type: "tool_use", id, name, input: { turn } });
  const thinking = { type: "thinking", thinking: `Think ${turn}`, signature: `c2ln${turn}` };
  const content = [thinking, { type: "text", text: `Say ${turn}` }, use(`call_${turn}a`, "shoot"), use(`call_${turn}b`, "read")];
  const usage = { input_tokens: 50 + turn, output_tokens: 9, cache_read_input_tokens: 50 };
  return { id: `msg_${turn}`, type: "message", role: "assistant", content, stop_reason: "tool_use", usage };
}

interface ChatMessage {
  content: string;
  reasoning_content: string;
  tool_calls: { id: string; function: { name: string; arguments: string } }[];
}

function chatClient(): ClientSide {
  const messages: object[] = [{ role: "system", content: "You are an agent." }];
  const tools = ["shoot", "read"].map((name) => ({
    type: "function",
    function: { name, parameters: { type: "object", properties: {} } },
  }));
  return {
    ask: (turn) => void messages.push({ role: "user", content: `Question ${turn}` }),
    request: () => ({ model: "m", reasoning_effort: "high", tools, messages }),
    read(answer) {
      const completion: { choices: [{ message: ChatMessage }] } = JSON.parse(answer.toString());
      const { message } = completion.choices[0];
      const [shot, read] = message.tool_calls.map((call) => call.id);
      const image = { type: "image_url", image_url: { url: `data:image/png;base64,${IMAGE}` } };
      messages.push(
        message,
        { role: "tool", tool_call_id: shot, content: [{ type: "text", text: "shot" }, image] },
        { role: "tool", tool_call_id: read, content: "text" },
      );
      const calls = message.tool_calls.map((call) => ({ name: call.function.name, input: JSON.parse(call.function.arguments) }));
      return { thinking: message.reasoning_content, text: message.content, calls };
    },
  };
}

interface MessagesBlock {
  type: string;
  id: string;
  name: string;
  text: string;
  thinking: string;
  input: unknown;
}

function messagesClient(): ClientSide {
  const messages: object[] = [];
  /** Results of tools that the next user turn begins with. */
  const waiting: object[] = [];
  const tools = ["shoot", "read"].map((name) => ({ name, input_schema: { type: "object", properties: {} } }));
  return {
    ask(turn) {
      const question = { type: "text", text: `Question ${turn}` };
      const results = waiting.splice(0);
      messages.push({ role: "user", content: [...results, question] });
    },
    request: () => ({
      model: "m",
      max_tokens: 8192,
      system: "You are an agent.",
      thinking: { type: "enabled", budget_tokens: 2048 },
      tools,
      messages,
    }),
    read(answer) {
      const { content }: { content: MessagesBlock[] } = JSON.parse(answer.toString());
      messages.push({ role: "assistant", content });
      const uses = content.filter((block) => block.type === "tool_use");
      const image = { type: "image", source: { type: "base64", media_type: "image/png", data: IMAGE } };
      waiting.push(
        { type: "tool_result", tool_use_id: uses[0]?.id, content: [{ type: "text", text: "shot" }, image] },
        { type: "tool_result", tool_use_id: uses[1]?.id, content: "text" },
      );
      return {
        thinking: content.find((block) => block.type === "thinking")?.thinking ?? "",
        text: content.find((block) => block.type === "text")?.text ?? "",
        calls: uses.map(({ name, input }) => ({ name, input })),
      };
    },
  };
}

interface OutputItem {
  type: string;
  call_id: string;
  name: string;
  arguments: string;
  content: [{ text: string }];
  summary: [{ text: string }];
}

function responsesClient(): ClientSide {
  const input: object[] = [];
  const tools = ["shoot", "read"].map((name) => ({ type: "function", name, parameters: { type: "object", properties: {} } }));
  return {
    ask: (turn) => void input.push({ role: "user", content: `Question ${turn}` }),
    request: () => ({
      model: "modelx-v4-pro",
      instructions: "You are an agent.",
      reasoning: { effort: "high" },
      include: ["reasoning.encrypted_content"],
      tools,
      input,
    }),
    read(answer) {
      const { output }: { output: OutputItem[] } = JSON.parse(answer.toString());
      const calls = output.filter(({ type }) => type === "function_call");
      const image = { type: "input_image", image_url: `data:image/png;base64,${IMAGE}` };
      const outputs = [[{ type: "input_text", text: "shot" }, image], "text"];
      input.push(...output);
      input.push(...calls.map(({ call_id }, index) => ({ type: "function_call_output", call_id, output: outputs[index] })));
      return {
        thinking: output.find(({ type }) => type === "reasoning")?.summary[0].text ?? "",
        text: output.find(({ type }) => type === "message")?.content[0].text ?? "",
        calls: calls.map(({ name, arguments: written }) => ({ name, input: JSON.parse(written) })),
      };
    },
  };
}

describe.for(PAIRS)("an agent's twenty turns, %s via %s", ([client, upstream]) => {
  test("give the transcript that the model produced", () => {
    const { transcript, inputTokens } = converse(client, upstream);
    const calls = (turn: number) => ["shoot", "read"].map((name) => ({ name, input: { turn } }));
    const turns = Array.from({ length: TURNS }, (_, turn) => turn);
    expect(transcript).toEqual(turns.map((turn) => ({ thinking: `Think ${turn}`, text: `Say ${turn}`, calls: calls(turn) })));
    expect(inputTokens).toEqual(turns.map((turn) => 50 + turn));
  });

  test("grow the upstream's prompt only at its end", () => {
    const { prompts } = converse(client, upstream);
    const grown = prompts.slice(1).map((prompt, index) => prompt.startsWith(prompts[index]?.slice(0, -1) ?? "?"));
    expect(grown).toEqual(grown.map(() => true));
  });

  test("carry thinking, calls and images to the upstream", () => {
    const last = converse(client, upstream).prompts.at(-1) ?? "";
    for (const piece of ["Think 3", "Say 3", "call_3a", "call_3b", IMAGE, "Question 19"]) expect(last).toContain(piece);
  });
});
