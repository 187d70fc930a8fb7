import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";
import { translate } from "./chat.ts";

/** Conversations in the part that both protocols can say. */
const words = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 20 })
  .filter((text) => text.trim() !== "" && text.trim() === text);
const input = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.oneof(fc.integer(), words, fc.boolean()), {
  noNullPrototype: true,
});
const image = fc
  .constantFrom("AAAA", "BBBB")
  .map((data) => ({ type: "image", source: { type: "base64", media_type: "image/png", data } }));
const text = words.map((value) => ({ type: "text", text: value }));
const question = fc.array(fc.oneof(text, image), { minLength: 1, maxLength: 3 });
const rounds = fc.array(
  fc.record({
    say: fc.option(words, { nil: null }),
    calls: fc.array(fc.record({ name: fc.constantFrom("f", "g"), input, result: words }), { maxLength: 3 }),
    answer: words,
    ask: words,
  }),
  { maxLength: 4 },
);
const TOOLS = ["f", "g"].map((name) => ({
  name,
  description: `does ${name}`,
  input_schema: { type: "object", properties: { a: { type: "integer", maximum: 5 } } },
}));

interface Conversation {
  system: string;
  first: object[];
  rest: {
    say: string | null;
    calls: { name: string; input: object; result: string }[];
    answer: string;
    ask: string;
  }[];
}

const conversations: fc.Arbitrary<Conversation> = fc.record({
  system: words,
  first: question,
  rest: rounds,
});

/** As messages writes it, every content a list of blocks. */
function messagesRequest({ system, first, rest }: Conversation): { messages: object[]; [name: string]: unknown } {
  const turns = rest.flatMap(({ say, calls, answer, ask }, round) => [
    ...(calls.length === 0
      ? []
      : [
          {
            role: "assistant",
            content: [
              ...(say === null ? [] : [{ type: "text", text: say }]),
              ...calls.map((call, index) => ({
                type: "tool_use",
                id: `call_${round}_${index}`,
                name: call.name,
                input: call.input,
              })),
            ],
          },
          {
            role: "user",
            content: calls.map((call, index) => ({
              type: "tool_result",
              tool_use_id: `call_${round}_${index}`,
              content: [{ type: "text", text: call.result }],
            })),
          },
        ]),
    { role: "assistant", content: [{ type: "text", text: answer }] },
    { role: "user", content: [{ type: "text", text: ask }] },
  ]);
  return {
    model: "m",
    max_tokens: 100,
    temperature: 0.5,
    stop_sequences: ["END"],
    system: [{ type: "text", text: system }],
    tools: TOOLS,
    tool_choice: { type: "any", disable_parallel_tool_use: true },
    messages: [{ role: "user", content: first }, ...turns],
  };
}

/** Both ways of writing a text are the same content. */
function normal(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (name, member: unknown) =>
    (name === "content" || name === "system") && typeof member === "string" ? [{ type: "text", text: member }] : member,
  );
}

function throughMessages(chat: object): object {
  return JSON.parse(
    createTranslation("chat", inputFor(chat, { upstream: "messages", upstreamModel: "m" })).upstream.body.toString("utf8"),
  );
}

function throughChat(request: object): object {
  return JSON.parse(translate(request, { flags: { systemParts: true } }).upstream.body.toString("utf8"));
}

describe("text, images and tools in any mixture survive the round trip", () => {
  test("messages ⇒ chat ⇒ messages", () => {
    fc.assert(
      fc.property(conversations, (conversation) => {
        const request = messagesRequest(conversation);
        expect(normal(throughMessages({ ...throughChat(request), model: "m" }))).toEqual(normal(request));
      }),
      { numRuns: 300 },
    );
  });

  test("chat ⇒ messages ⇒ chat", () => {
    fc.assert(
      fc.property(conversations, (conversation) => {
        const chat = throughChat(messagesRequest(conversation));
        expect(throughChat({ ...throughMessages(chat), model: "m" })).toEqual(chat);
      }),
      { numRuns: 300 },
    );
  });
});
