import { expect, test, vi } from "vitest";
import type { Protocol } from "../../../../contract/protocol.ts";
import { createMeter } from "../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import type { Translation } from "../../../../extproc/translate/translation.ts";
import { countArrayWork } from "../../../support/array-work.ts";
import { inputFor } from "./input.ts";

/** Lists as long as a client or a model server likes: twice as long, they take twice the work, and not four times. */
const COUNT = 500;

interface Shape {
  client: Protocol;
  upstream: Protocol;
}

const times = <Made>(count: number, make: (index: number) => Made): Made[] =>
  Array.from({ length: count }, (_, index) => make(index));

function expectLinear(work: (count: number) => () => void): void {
  const once = countArrayWork(work(COUNT));
  const twice = countArrayWork(work(2 * COUNT));
  expect(once).toBeGreaterThan(0);
  expect(twice).toBeLessThan(2.2 * once);
}

const model = "modelx-v4-pro";
const hello = { role: "user", content: "hi" };
const callOf = (index: number) => ({ id: `c${index}`, type: "function", function: { name: "f", arguments: "{}" } });
const REQUESTS: (Shape & { what: string; make: (count: number) => object })[] = [
  {
    what: "results in reverse order",
    client: "chat",
    upstream: "messages",
    make: (count) => ({
      messages: [
        hello,
        { role: "assistant", content: null, tool_calls: times(count, callOf) },
        ...times(count, (index) => ({ role: "tool", tool_call_id: `c${count - 1 - index}`, content: "ok" })),
      ],
    }),
  },
  {
    what: "results of calls with one id",
    client: "chat",
    upstream: "messages",
    make: (count) => ({
      messages: [
        hello,
        { role: "assistant", content: null, tool_calls: times(count, () => callOf(0)) },
        ...times(count, () => ({ role: "tool", tool_call_id: "c0", content: "ok" })),
      ],
    }),
  },
  {
    what: "results in reverse order",
    client: "responses",
    upstream: "chat",
    make: (count) => ({
      input: [
        hello,
        ...times(count, (index) => ({ type: "function_call", call_id: `c${index}`, name: "f", arguments: "{}" })),
        ...times(count, (index) => ({ type: "function_call_output", call_id: `c${count - 1 - index}`, output: "ok" })),
      ],
    }),
  },
];

test.for(REQUESTS)("a request with $what: $client via $upstream", ({ client, upstream, make }) => {
  expectLinear((count) => {
    const body = Buffer.from(JSON.stringify({ model, max_tokens: 100, ...make(count) }));
    return () => void createTranslation(client, inputFor(body, { upstream }));
  });
});

const event = (type: string, members: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const START = event("message_start", { message: { id: "m", type: "message", role: "assistant", model: "m", content: [] } });
const STOP = event("message_delta", { delta: { stop_reason: "end_turn" } }) + event("message_stop", {});
const chunk = (choice: object) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;

const ANSWERS: (Shape & { what: string; events: (count: number) => string[] })[] = [
  {
    what: "calls that are all open at once",
    client: "responses",
    upstream: "messages",
    events: (count) => [
      START,
      ...times(count, (index) =>
        event("content_block_start", { index, content_block: { type: "tool_use", id: `t${index}`, name: "f" } }),
      ),
      ...times(count, (index) => event("content_block_stop", { index: count - 1 - index })),
      STOP,
    ],
  },
  {
    what: "items that are open while the response is repeated",
    client: "responses",
    upstream: "responses",
    events: (count) => [
      ...times(count, (index) =>
        event("response.output_item.added", { output_index: index, item: { type: "odd", id: `i${index}` } }),
      ),
      ...times(count, () => event("response.in_progress", { response: { id: "r" } })),
      event("response.completed", { response: { id: "r", status: "completed", output: [] } }),
    ],
  },
  {
    what: "log probabilities in pieces",
    client: "chat",
    upstream: "chat",
    events: (count) => [
      ...times(count, () => chunk({ delta: { content: "a" }, logprobs: { content: [{ token: "a", logprob: 0 }] } })),
      chunk({ delta: {}, finish_reason: "stop" }),
      "data: [DONE]\n\n",
    ],
  },
];

function translationOf({ client, upstream }: Shape, stream: boolean): Translation {
  const request = client === "responses" ? { input: "hi" } : { messages: [hello], max_tokens: 100_000 };
  return createTranslation(client, inputFor({ model, stream, ...request }, { upstream }));
}

test.for(ANSWERS)("a stream of $what: $client via $upstream", ({ events, ...shape }) => {
  expectLinear((count) => {
    const pieces = events(count).map((piece) => Buffer.from(piece));
    const machine = translationOf(shape, true).stream(createMeter(0));
    return () => {
      for (const piece of pieces) machine.push(piece);
      machine.end();
    };
  });
});

test.for(ANSWERS)("the same if JSON was requested: $what, $client via $upstream", ({ events, ...shape }) => {
  expectLinear((count) => {
    const body = Buffer.from(events(count).join(""));
    const translation = translationOf(shape, false);
    return () => void translation.response(body, createMeter(0));
  });
});

test("the text of a complete answer is written once, not once for each event of a stream: responses via chat", () => {
  const text = "x".repeat(1_000_000);
  const choices = [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }];
  const body = Buffer.from(JSON.stringify({ id: "a", object: "chat.completion", created: 1, model: "m", choices }));
  const translation = translationOf({ client: "responses", upstream: "chat" }, false);
  const stringify = vi.spyOn(JSON, "stringify");
  try {
    expect(translation.response(body, createMeter(0)).length).toBeGreaterThan(text.length);
    const written = stringify.mock.results.reduce((sum, { value }) => sum + String(value).length, 0);
    expect(written).toBeLessThan(1.5 * text.length);
  } finally {
    stringify.mockRestore();
  }
});
