import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";
import { replayChat, replayMessages } from "../replay.ts";
import { CHAT, chunk, DONE, play } from "./play.ts";

/** Calls of chat servers whose pieces have a form of their own. */
type Json = Record<string, unknown>;
const of = (delta: Json, finish: string | null = null) => chunk({}, { choices: [{ index: 0, delta, finish_reason: finish }] });
const piece = (more: Json, written?: unknown, name?: unknown) => ({
  ...more,
  function: { ...(name !== undefined && { name }), ...(written !== undefined && { arguments: written }) },
});
const calls = (...tool_calls: Json[]) => of({ tool_calls });
const END = of({}, "tool_calls");

const CALLS: Record<string, string> = {
  "an id that comes late":
    calls(piece({ index: 0, type: "function" }, "", "f")) + calls(piece({ index: 0, id: "a" }, "{}")) + END,
  "an id that comes late, and no index":
    calls(piece({ type: "function" }, "", "f")) + calls(piece({ id: "a" }, "{")) + calls(piece({}, "}")) + END,
  "another id with every piece":
    calls(piece({ index: 0, id: "a" }, "", "f")) +
    calls(piece({ index: 0, id: "b" }, "{", "")) +
    calls(piece({ index: 0, id: "c" }, "}")) +
    END,
  "no function at first": calls({ index: 0, id: "a", type: "function" }) + calls(piece({ index: 0 }, "{}", "f")) + END,
  "several pieces in the last chunk":
    calls(piece({ index: 0, id: "a" }, "", "f")) +
    of({ tool_calls: [piece({ index: 0 }, "{"), piece({ index: 0 }, "}")] }, "tool_calls"),
  "all pieces in the last chunk": of(
    { tool_calls: [piece({ index: 0, id: "a" }, "", "f"), piece({ index: 0 }, "{}")] },
    "tool_calls",
  ),
  "nothing but empty pieces in the last chunk": of(
    { tool_calls: [piece({ index: 0, id: "a" }, "", "f"), piece({ index: 0 }, "")] },
    "tool_calls",
  ),
  "nothing but empty pieces without an index in the last chunk": of(
    { tool_calls: [piece({ id: "a" }, "", "f"), piece({}, "")] },
    "tool_calls",
  ),
  "the reason of an answer without calls": calls(piece({ index: 0, id: "a" }, "{}", "f")) + of({}, "stop"),
  "its reason, and then that of an answer without calls": calls(piece({ index: 0, id: "a" }, "{}", "f")) + END + of({}, "stop"),
};

describe.for(Object.entries(CALLS))("a call with %s", ([, sent]) => {
  test("is one call in its own protocol, whose pieces have one id", async () => {
    const { text, outcome } = play(CHAT, [Buffer.from(sent + DONE)], { protocol: "chat" });
    expect(outcome).toBe("complete");
    expect((await replayChat(text)).choices).toMatchObject([
      {
        finish_reason: "tool_calls",
        message: { tool_calls: [{ id: expect.stringMatching(/./), function: { name: "f", arguments: "{}" } }] },
      },
    ]);
    expect(text.match(/"id":"(?!c")/g)).toHaveLength(1);
  });

  test("is one call in another protocol", async () => {
    const input = inputFor({ model: "m", max_tokens: 9, stream: true, messages: CHAT.messages }, { upstream: "chat" });
    const stream = createTranslation("messages", input).stream(createMeter(10));
    const output = [stream.push(Buffer.from(sent + DONE)), stream.end()].map(String).join("");
    expect(await replayMessages(output)).toMatchObject({
      stop_reason: "tool_use",
      content: [{ type: "tool_use", name: "f", input: {} }],
    });
  });

  test("is one call in a complete answer that its server streams", () => {
    expect(JSON.parse(playWhole(sent + DONE))).toMatchObject({
      choices: [{ finish_reason: "tool_calls", message: { tool_calls: [{ function: { name: "f", arguments: "{}" } }] } }],
    });
  });
});

const LEGACY: Record<string, [sent: string, written: string]> = {
  "an empty text": [of({ function_call: { name: "f", arguments: "" } }) + of({}, "function_call"), "{}"],
  "an empty text where the answer ends": [of({ function_call: { name: "f", arguments: "" } }, "function_call"), "{}"],
  "an empty text, and [DONE] alone": [of({ function_call: { name: "f", arguments: "" } }), "{}"],
  "no arguments": [of({ function_call: { name: "f" } }) + of({}, "function_call"), "{}"],
  "an object": [of({ function_call: { name: "f", arguments: { a: 1 } } }, "function_call"), '{"a":1}'],
  "pieces that repeat the name": [
    of({ function_call: { name: "f", arguments: "" } }) +
      of({ function_call: { name: "f", arguments: '{"a"' } }) +
      of({ function_call: { name: "f", arguments: ":1}" } }, "function_call"),
    '{"a":1}',
  ],
  "the reason of an answer without calls": [
    of({ function_call: { name: "f", arguments: '{"a":1}' } }) + of({}, "stop"),
    '{"a":1}',
  ],
};

describe.for(Object.entries(LEGACY))("a function_call with %s", ([, [sent, written]]) => {
  test("has arguments that clients can parse, streamed and not", async () => {
    const choice = { finish_reason: "function_call", message: { function_call: { name: "f", arguments: written } } };
    const { text } = play(CHAT, [Buffer.from(sent + DONE)], { protocol: "chat" });
    expect((await replayChat(text)).choices).toMatchObject([choice]);
    expect(text.match(/"name"/g)).toHaveLength(1);
    expect(JSON.parse(playWhole(sent + DONE))).toMatchObject({ choices: [choice] });
  });

  test("is left alone if it was cut off", () => {
    const cut = of({ function_call: { name: "f", arguments: "" } }) + of({}, "length");
    expect(play(CHAT, [Buffer.from(chunk({}) + cut + DONE)], { protocol: "chat" }).text).toBe(chunk({}) + cut + DONE);
  });
});

test("a reason that says more than that an answer ended stays", () => {
  for (const reason of ["length", "content_filter", "tool_calls", "function_call", "new_reason"]) {
    const sent = chunk({}) + calls(piece({ index: 0, id: "a", type: "function" }, "{}", "f")) + of({}, reason) + DONE;
    expect(play(CHAT, [Buffer.from(sent)], { protocol: "chat" }).text).toBe(sent);
  }
});

test("a message instead of deltas becomes one", async () => {
  const message = { role: "assistant", content: "Good day.", tool_calls: [piece({ id: "a", type: "function" }, "{}", "f")] };
  const sent = chunk({}, { choices: [{ index: 0, message, finish_reason: "stop" }] }) + DONE;
  const { text } = play(CHAT, [Buffer.from(sent)], { protocol: "chat" });
  expect(text).not.toContain('"message"');
  expect((await replayChat(text)).choices).toMatchObject([
    { finish_reason: "tool_calls", message: { content: "Good day.", tool_calls: [{ id: "a", function: { name: "f" } }] } },
  ]);
});

function playWhole(body: string): string {
  const input = inputFor({ ...CHAT, stream: false }, { upstream: "chat", upstreamModel: "m" });
  return createTranslation("chat", input).response(Buffer.from(body), createMeter(10)).toString();
}
