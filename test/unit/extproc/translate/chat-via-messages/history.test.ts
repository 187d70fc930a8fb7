import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

interface Turn {
  role: string;
  content: { type: string; id?: string; tool_use_id?: string; text?: string; content?: unknown }[];
}

function translateBody(messages: object[]): string {
  const request = { model: "modelx-v4-pro", messages, tools: [{ type: "function", function: { name: "run" } }] };
  return createTranslation("chat", inputFor(request, { upstream: "messages" })).upstream.body.toString("utf8");
}

function turnsOf(messages: object[]): Turn[] {
  const body: { messages: Turn[] } = JSON.parse(translateBody(messages));
  return body.messages;
}

const call = (id: string) => ({ id, type: "function", function: { name: "run", arguments: '{"a":1}' } });
const ids = fc.constantFrom("call_0", "call_1", "functions.run:0", "toolu_x", "", "é");
const content = fc.constantFrom("", " ", "text", "more\n");
const message = fc.oneof(
  fc.record({ role: fc.constantFrom("system", "developer", "user"), content }),
  fc.record({ role: fc.constant("assistant"), content, tool_calls: fc.array(ids.map(call), { maxLength: 3 }) }),
  fc.record({ role: fc.constant("tool"), tool_call_id: ids, content }),
);
const history = fc.array(message, { minLength: 1, maxLength: 14 });

describe("any history becomes one that a messages server accepts", () => {
  test("turns begin with the user and alternate, and none is empty", () => {
    fc.assert(
      fc.property(history, (messages) => {
        const turns = turnsOf(messages);
        expect(turns.map((turn) => turn.role)).toEqual(turns.map((_, index) => (index % 2 === 0 ? "user" : "assistant")));
        expect(turns.every((turn) => turn.content.length > 0)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("every call is answered once, in order, at the beginning of the next turn, and nothing else is", () => {
    fc.assert(
      fc.property(history, (messages) => {
        const turns = turnsOf(messages);
        for (const [index, turn] of turns.entries()) {
          const calls = turn.content.filter((block) => block.type === "tool_use").map((block) => block.id);
          const next = turns[index + 1]?.content ?? [];
          expect(next.slice(0, calls.length).map((block) => block.tool_use_id)).toEqual(calls);
          expect(next.slice(calls.length).some((block) => block.type === "tool_result")).toBe(false);
        }
      }),
      { numRuns: 500 },
    );
  });

  test("ids are valid and never repeat", () => {
    fc.assert(
      fc.property(history, (messages) => {
        const used = turnsOf(messages).flatMap((turn) =>
          turn.content.flatMap((block) => (block.type === "tool_use" ? [block.id] : [])),
        );
        expect(new Set(used).size).toBe(used.length);
        expect(used.every((id) => /^[a-zA-Z0-9_-]+$/.test(id ?? ""))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("no text is blank", () => {
    fc.assert(
      fc.property(history, (messages) => {
        const texts = turnsOf(messages).flatMap((turn) => turn.content.filter((block) => block.type === "text"));
        expect(texts.every((block) => block.text?.trim() !== "")).toBe(true);
      }),
    );
  });
});

test("two calls with one id in a turn get their results in order", () => {
  const turns = turnsOf([
    { role: "user", content: "go" },
    { role: "assistant", tool_calls: [call("call_0"), call("call_0")] },
    { role: "tool", tool_call_id: "call_0", content: "first" },
    { role: "tool", tool_call_id: "call_0", content: "second" },
    { role: "tool", tool_call_id: "call_0", content: "third" },
  ]);
  const contents = turns[2]?.content.map((block) => JSON.stringify(block.content ?? block.text));
  expect(contents).toEqual([
    expect.stringContaining("first"),
    expect.stringContaining("second"),
    '"[result of the earlier tool call call_0]"',
    '"third"',
  ]);
});

test("a conversation of twenty turns grows only at its end, so that prompt caches hit", () => {
  const messages: object[] = [{ role: "system", content: "Be brief." }];
  let earlier = "";
  for (let turn = 0; turn < 20; turn += 1) {
    messages.push({ role: "user", content: `Question ${turn}` });
    messages.push({ role: "assistant", content: null, tool_calls: [call("call_0"), call("call_1")] });
    messages.push(
      { role: "tool", tool_call_id: "call_1", content: `b${turn}` },
      { role: "tool", tool_call_id: "call_0", content: `a${turn}` },
    );
    const body = translateBody(messages);
    expect(body.startsWith(earlier)).toBe(true);
    // Without the brackets that close the list and the body.
    earlier = body.slice(0, -"]}".length);
    messages.push({ role: "assistant", content: `Answer ${turn}` });
  }
});
