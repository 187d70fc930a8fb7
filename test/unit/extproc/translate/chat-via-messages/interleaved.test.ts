import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";
import { replayChat } from "../replay.ts";
import { toTranscript, type TestMessage } from "./messages.ts";

const thinking = (text: string) => ({ type: "thinking" as const, thinking: text, signature: `signed ${text}` });
const use = (id: string) => ({ type: "tool_use" as const, id, name: "f", input: {} });
const text = (words: string) => ({ type: "text" as const, text: words });

const CONTENT: TestMessage["content"] = [
  thinking("A"),
  text("I will look 👀."),
  thinking("B"),
  text(" Twice."),
  use("c1"),
  { type: "redacted_thinking", data: "c2VhbGVk" },
  use("c2"),
];
const MESSAGE: TestMessage = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: CONTENT,
  stop_reason: "tool_use",
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
};
const QUESTION = { role: "user", content: "Weather?" };
const RESULTS = ["c1", "c2"].map((id) => ({ role: "tool", tool_call_id: id, content: "ok" }));

function translation(messages: readonly object[], rest: object = {}) {
  const request = { model: "m", max_tokens: 10_000, messages, ...rest };
  return createTranslation("chat", inputFor(request, { upstream: "messages", flags: { thinkingControl: "budget" } }));
}

interface Sent {
  thinking?: object;
  messages: { content: object[] }[];
}

function sent(assistant: object, rest: object = {}): { body: Sent; dropped: readonly string[] } {
  const { upstream, dropped } = translation([QUESTION, { ...assistant }, ...RESULTS], rest);
  const body: Sent = JSON.parse(upstream.body.toString("utf8"));
  return { body, dropped };
}

function whole(): { content: string; reasoning_details: object[] } {
  const answer = translation([QUESTION]).response(Buffer.from(JSON.stringify(MESSAGE)), createMeter(1));
  const completion: { choices: { message: { content: string; reasoning_details: object[] } }[] } = JSON.parse(answer.toString());
  return completion.choices[0]?.message ?? { content: "", reasoning_details: [] };
}

describe("thinking between text and calls returns to its position, because a server rejects it anywhere else", () => {
  test("from a complete answer", () => {
    expect(sent(whole()).body.messages[1]?.content).toEqual(CONTENT);
  });

  test("from a stream, as the official SDK assembles it", async () => {
    const machine = translation([QUESTION], { stream: true }).stream(createMeter(1));
    const stream = machine.push(Buffer.from(toTranscript(MESSAGE))).toString() + machine.end().toString();
    const details = stream
      .split("\n\n")
      .filter((event) => event.includes("reasoning_details"))
      .flatMap((event) => Object(JSON.parse(event.slice("data: ".length))).choices[0].delta.reasoning_details);
    const { message } = (await replayChat(stream)).choices[0] ?? {};
    expect(sent({ ...message, reasoning_details: details }).body.messages[1]?.content).toEqual(CONTENT);
  });

  test("from content that the client sends as parts", () => {
    const { content, ...message } = whole();
    const parts = [content.slice(0, 5), content.slice(5)].map((part) => ({ type: "text", text: part }));
    const types = sent({ ...message, content: parts }).body.messages[1]?.content.map((block) => Reflect.get(block, "type"));
    expect(types).toEqual(["thinking", "text", "text", "thinking", "text", "tool_use", "redacted_thinking", "tool_use"]);
  });
});

const DETAIL = { type: "reasoning.text", text: "A", signature: "signed A", format: "anthropic-claude-v1", index: 0 };

describe("thinking with a lost position is dropped, and thinking is disabled for the turn that answers its calls", () => {
  test.for<[string, object]>([
    ["shortened text", { content: "I will" }],
    ["a place behind more calls", { reasoning_details: [{ ...DETAIL, id: "gw-after-0-7" }] }],
    ["a place beyond all text", { reasoning_details: [{ ...DETAIL, id: "gw-after-999999999-0" }] }],
  ])("%s", ([, change]) => {
    const { body, dropped } = sent({ ...whole(), ...change }, { reasoning_effort: "high" });
    expect(JSON.stringify(body.messages)).not.toMatch(/thinking|c2VhbGVk/);
    expect(body.thinking).toEqual({ type: "disabled" });
    expect(dropped).toEqual(["messages[].reasoning_details", "reasoning_effort"]);
  });
});

test("thinking at the beginning of a message needs no position", () => {
  const [first] = whole().reasoning_details;
  expect(first).toEqual(DETAIL);
});
