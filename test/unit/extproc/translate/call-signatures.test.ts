import { describe, expect, test } from "vitest";
import type { Interface, Protocol } from "../../../../contract/protocol.ts";
import { createMeter } from "../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import type { Translation } from "../../../../extproc/translate/translation.ts";
import { inputFor } from "./input.ts";
import { replayMessages, replayResponses } from "./replay.ts";

const USAGE = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
const signed = (signature: string) => ({ extra_content: { google: { thought_signature: signature } } });
const call = (id: string, rest: object = {}) => ({ id, type: "function", function: { name: "f", arguments: "{}" }, ...rest });
/** As Gemini answers: of parallel calls the first is signed, and each later step by itself. */
const CALLS = [call("call_a", signed("c2lnbmVkIGE=")), call("call_b")];

function completion(message: object): Buffer {
  const choice = { index: 0, message: { role: "assistant", content: null, ...message }, finish_reason: "tool_calls" };
  return Buffer.from(JSON.stringify({ id: "c", object: "chat.completion", choices: [choice], usage: USAGE }));
}

function stream(deltas: readonly object[]): Buffer {
  const chunks = [
    ...deltas.map((delta) => ({ id: "c", choices: [{ index: 0, delta, finish_reason: null }] })),
    { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
    { id: "c", choices: [], usage: USAGE },
  ];
  return Buffer.from([...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`).join(""));
}

const MODEL = "modelx-v4-pro";
const TOOLS = {
  messages: [{ name: "f", input_schema: { type: "object" } }],
  responses: [{ type: "function", name: "f", parameters: { type: "object" }, strict: false }],
};

function translate(client: Interface, request: object, upstream: Protocol = "chat"): Translation {
  return createTranslation(client, inputFor({ model: MODEL, ...request }, { upstream }));
}

function streamed(translation: Translation, answer: Buffer): string {
  const machine = translation.stream(createMeter(1));
  const pushed = machine.push(answer);
  return pushed.toString() + machine.end().toString();
}

interface SentMessage {
  role: string;
  tool_calls?: object[];
  content: { type: string }[];
}

function sentMessages(translation: Translation): SentMessage[] {
  const body: { messages: SentMessage[] } = JSON.parse(translation.upstream.body.toString("utf8"));
  return body.messages;
}

const QUESTION = { messages: [{ role: "user", content: "hi" }], max_tokens: 100, tools: TOOLS.messages };
const results = (ids: readonly string[]) => ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: "ok" }));
const turnAfter = (content: unknown, ids: readonly string[]) => ({
  ...QUESTION,
  messages: [
    { role: "user", content: "hi" },
    { role: "assistant", content },
    { role: "user", content: results(ids) },
  ],
});

describe("a call signed by its chat server returns with its signature", () => {
  test("from a messages client, complete", () => {
    const answer = translate("messages", QUESTION).response(completion({ tool_calls: CALLS }), createMeter(1));
    const { content }: { content: { type: string }[] } = JSON.parse(answer.toString());
    expect(content.map(({ type }) => type)).toEqual(["thinking", "tool_use", "tool_use"]);
    const next = translate("messages", turnAfter(content, ["call_a", "call_b"]));
    expect(sentMessages(next)[1]?.tool_calls).toEqual(CALLS);
    expect(next.dropped).toEqual([]);
  });

  test("from a messages client, streamed, after text and reasoning", async () => {
    const text = streamed(
      translate("messages", { ...QUESTION, stream: true }),
      stream([
        { reasoning_content: "I think." },
        { content: "Looking." },
        { reasoning_content: "More." },
        { tool_calls: [{ index: 0, ...CALLS[0] }] },
        { tool_calls: [{ index: 1, ...call("call_b", signed("c2lnbmVkIGI=")) }] },
      ]),
    );
    const { content } = await replayMessages(text);
    expect(content.map(({ type }) => type)).toEqual(["thinking", "text", "thinking", "tool_use", "thinking", "tool_use"]);
    const next = translate("messages", turnAfter(content, ["call_a", "call_b"]));
    expect(sentMessages(next)[1]).toMatchObject({
      content: "Looking.",
      reasoning_content: "I think.More.",
      tool_calls: [CALLS[0], call("call_b", signed("c2lnbmVkIGI="))],
    });
  });

  test("from a Responses client that requests encrypted reasoning", async () => {
    const request = { input: "hi", include: ["reasoning.encrypted_content"], tools: TOOLS.responses };
    const text = streamed(
      translate("responses", { ...request, stream: true }),
      stream([{ tool_calls: CALLS.map((each, index) => ({ index, ...each })) }]),
    );
    const { output } = await replayResponses(text);
    expect(output.map(({ type }) => type)).toEqual(["reasoning", "function_call", "function_call"]);
    const outputs = ["call_a", "call_b"].map((id) => ({ type: "function_call_output", call_id: id, output: "ok" }));
    const next = translate("responses", { ...request, input: [{ role: "user", content: "hi" }, ...output, ...outputs] });
    expect(sentMessages(next)[1]?.tool_calls).toEqual(CALLS);
  });
});

describe("a call's signature goes nowhere else", () => {
  function answered(): object[] {
    const answer = translate("messages", QUESTION).response(completion({ tool_calls: CALLS }), createMeter(1));
    const { content }: { content: object[] } = JSON.parse(answer.toString());
    return content;
  }

  test("not to a messages server, through the passthrough or a translation", () => {
    const next = translate("messages", turnAfter(answered(), ["call_a", "call_b"]), "messages");
    expect(sentMessages(next)[1]?.content.map(({ type }) => type)).toEqual(["tool_use", "tool_use"]);
  });

  test("not to a Responses server, which would treat it as its own reasoning", () => {
    const next = translate("messages", turnAfter(answered(), ["call_a", "call_b"]), "responses");
    expect(next.upstream.body.toString()).not.toContain("c2lnbmVkIGE=");
    expect(next.dropped).toEqual(["messages.content.thinking"]);
  });

  test("not to another Model", () => {
    const input = inputFor({ model: MODEL, ...turnAfter(answered(), ["call_a", "call_b"]) }, { upstream: "chat" });
    const other = createTranslation("messages", { ...input, model: { ...input.model, name: "other" } });
    expect(other.upstream.body.toString()).not.toContain("extra_content");
  });
});
