import { expect, test } from "vitest";
import { GatewayError } from "../../../../contract/errors.ts";
import type { Protocol } from "../../../../contract/protocol.ts";
import { NO_USAGE } from "../../../../contract/usage.ts";
import { createShownAnswer } from "../../../../extproc/guardrails/shown-answer.ts";
import { isObject, type JsonObject } from "../../../../extproc/protocol/json/object.ts";
import { createSseParser } from "../../../../extproc/protocol/sse.ts";

/** How a stream ends whose rest is withheld: with what the client has, and not with what it has not (S55). */
const USAGE = { ...NO_USAGE, inputTokens: 5, outputTokens: 7 };

function end(client: Protocol, shown: readonly JsonObject[], { arrived = [], wantsUsage = false }: Options = {}): unknown[] {
  const answer = createShownAnswer(client, { requestId: "r", model: "m", wantsUsage });
  for (const json of [...shown, ...arrived]) answer.arrived(json);
  for (const json of shown) answer.shown(json, JSON.stringify(json));
  return eventsIn(answer.refused(USAGE, "Refused."));
}

interface Options {
  /** Events that the client did not get. */
  arrived?: readonly JsonObject[];
  wantsUsage?: boolean;
}

function eventsIn(stream: string): unknown[] {
  return createSseParser()
    .push(Buffer.from(stream))
    .map(({ data }): unknown => (data === "[DONE]" ? data : JSON.parse(data)));
}

const chunk = (...choices: object[]): JsonObject => ({ id: "c", created: 9, object: "chat.completion.chunk", choices });

test("chat: each open answer is finished by the filter, and usage follows if it was asked for", () => {
  const shown = [
    chunk({ index: 0, delta: { content: "a" } }, { index: 1, delta: { content: "b" } }),
    chunk({ index: 0, delta: {}, finish_reason: "stop" }),
  ];
  const head = { id: "c", created: 9, object: "chat.completion.chunk", model: "m" };
  expect(end("chat", shown)).toEqual([
    { ...head, choices: [{ index: 1, delta: {}, logprobs: null, finish_reason: "content_filter" }] },
    "[DONE]",
  ]);
  expect(end("chat", shown, { wantsUsage: true }).at(1)).toMatchObject({
    choices: [],
    usage: { prompt_tokens: 5, completion_tokens: 7 },
  });
});

test("chat: an answer of which nothing was shown has its head", () => {
  expect(end("chat", [], { arrived: [chunk({ index: 0, delta: { content: "held" } })] })).toEqual([
    expect.objectContaining({ id: "c", choices: [expect.objectContaining({ index: 0, finish_reason: "content_filter" })] }),
    "[DONE]",
  ]);
});

test("messages: only blocks that the client has are closed", () => {
  const start: JsonObject = { type: "message_start", message: { id: "msg_1", content: [] } };
  const block = (index: number): JsonObject => ({
    type: "content_block_start",
    index,
    content_block: { type: "text", text: "" },
  });
  const shown = [start, block(0), { type: "content_block_stop", index: 0 }, block(1)];
  expect(end("messages", shown, { arrived: [block(2)] })).toEqual([
    { type: "content_block_stop", index: 1 },
    {
      type: "message_delta",
      delta: {
        stop_reason: "refusal",
        stop_sequence: null,
        stop_details: { type: "refusal", category: null, explanation: "Refused." },
      },
      usage: expect.objectContaining({ input_tokens: 5, output_tokens: 7 }),
    },
    { type: "message_stop" },
  ]);
  const [begun] = end("messages", [], { arrived: [start] });
  expect(begun).toMatchObject({ type: "message_start", message: { id: "msg_1", content: [] } });
});

const RESPONSE: JsonObject[] = [
  { type: "response.created", sequence_number: 0, response: { id: "resp_1", object: "response", model: "m", output: [] } },
  {
    type: "response.output_item.added",
    sequence_number: 1,
    output_index: 0,
    item: { type: "message", id: "i", status: "in_progress" },
  },
  { type: "response.output_text.delta", sequence_number: 2, output_index: 0, content_index: 0, delta: "shown" },
];
const HELD: JsonObject = {
  type: "response.output_text.delta",
  sequence_number: 3,
  output_index: 0,
  content_index: 0,
  delta: "held",
};

test("responses: the response is incomplete, with the text that was shown", () => {
  const [item, response] = end("responses", RESPONSE, { arrived: [HELD] });
  const output = [{ type: "message", id: "i", status: "incomplete", content: [expect.objectContaining({ text: "shown" })] }];
  expect(item).toMatchObject({ type: "response.output_item.done", sequence_number: 3, item: output[0] });
  expect(response).toMatchObject({
    type: "response.incomplete",
    sequence_number: 4,
    response: { id: "resp_1", status: "incomplete", incomplete_details: { reason: "content_filter" }, output },
  });
});

test.for(["chat", "messages", "responses"] as const)("a failure repeats nothing that was withheld: %s", (client) => {
  const answer = createShownAnswer(client, { requestId: "r", model: "m", wantsUsage: false });
  if (client === "responses") for (const json of RESPONSE) answer.shown(json, JSON.stringify(json));
  answer.arrived(HELD);
  const failed = answer.failed(new GatewayError("guardrail_unavailable", "No check."));
  expect(failed).toContain("No check.");
  expect(failed).not.toContain("held");
  expect(eventsIn(failed).every(isObject)).toBe(true);
});
