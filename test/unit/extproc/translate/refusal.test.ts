import { describe, expect, test } from "vitest";
import type { Protocol } from "../../../../contract/protocol.ts";
import { createMeter } from "../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { inputFor } from "./input.ts";
import { replayChat, replayMessages, replayResponses } from "./replay.ts";

const TURN = [{ role: "user", content: "hi" }];
const REQUESTS = {
  chat: { model: "m", messages: TURN },
  messages: { model: "m", max_tokens: 100, messages: TURN },
  responses: { model: "m", input: "hi" },
} as const satisfies Record<Protocol, object>;

/** Servers whose protocol keeps a refusal apart from text. */
type Refusing = "chat" | "responses";

const HEAD = { id: "chatcmpl-1", created: 1, model: "m" };
const ITEM = { id: "msg_1", type: "message", role: "assistant", status: "completed" };
const PART = { type: "refusal", refusal: "I can't help." };
const RESPONSE = { id: "resp_1", object: "response", created_at: 1, model: "m", status: "completed" };
const WHOLE = {
  chat: {
    ...HEAD,
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: null, refusal: "I can't help." }, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  },
  responses: { ...RESPONSE, output: [{ ...ITEM, content: [PART] }], usage: { input_tokens: 10, output_tokens: 5 } },
} as const satisfies Record<Refusing, object>;

function chunk(delta: object, finish: string | null = null): object {
  return { ...HEAD, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] };
}

const AT = { item_id: "msg_1", output_index: 0, content_index: 0 };
const STREAM = {
  chat: [
    chunk({ role: "assistant", content: "" }),
    chunk({ refusal: "I can't " }),
    chunk({ refusal: "help." }),
    chunk({}, "stop"),
  ],
  responses: [
    { type: "response.created", response: { ...RESPONSE, status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...ITEM, status: "in_progress", content: [] } },
    { type: "response.content_part.added", ...AT, part: { type: "refusal", refusal: "" } },
    { type: "response.refusal.delta", ...AT, delta: "I can't " },
    { type: "response.refusal.delta", ...AT, delta: "help." },
    { type: "response.refusal.done", ...AT, refusal: "I can't help." },
    { type: "response.output_item.done", output_index: 0, item: { ...ITEM, content: [PART] } },
    { type: "response.completed", response: WHOLE.responses },
  ],
} as const satisfies Record<Refusing, readonly object[]>;

function translation(client: Protocol, upstream: Protocol, stream: boolean) {
  return createTranslation(client, inputFor({ ...REQUESTS[client], stream }, { upstream }));
}

function whole(client: Protocol, upstream: Refusing): unknown {
  const bytes = Buffer.from(JSON.stringify(WHOLE[upstream]));
  return JSON.parse(translation(client, upstream, false).response(bytes, createMeter(10)).toString());
}

function streamed(client: Protocol, upstream: Refusing): string {
  const stream = translation(client, upstream, true).stream(createMeter(10));
  const chunks = STREAM[upstream].map((event) => stream.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`)));
  return [...chunks, stream.end()].map(String).join("");
}

/** @param content null, but for streams: their first chunk begins with an empty text. */
function chatAnswer(content: string | null): object {
  return { choices: [{ message: { content, refusal: "I can't help." }, finish_reason: "stop" }] };
}

const RESPONSES = {
  status: "completed",
  incomplete_details: null,
  output: [{ type: "message", status: "completed", content: [PART] }],
};
const MESSAGES = { content: [{ type: "text", text: "I can't help." }], stop_reason: "refusal" };

describe("a refusal stays one in protocols that have it, and is a complete answer there (S15)", () => {
  test("from a Responses server to a chat client", async () => {
    expect(whole("chat", "responses")).toMatchObject(chatAnswer(null));
    expect(await replayChat(streamed("chat", "responses"))).toMatchObject(chatAnswer(""));
  });

  test("from a chat server to a Responses client", async () => {
    expect(whole("responses", "chat")).toMatchObject(RESPONSES);
    expect(await replayResponses(streamed("responses", "chat"))).toMatchObject(RESPONSES);
  });

  test.for(["chat", "responses"] as const)(
    "from a %s server it is text and the stop reason for a messages client",
    async (upstream) => {
      expect(whole("messages", upstream)).toMatchObject(MESSAGES);
      expect(await replayMessages(streamed("messages", upstream))).toMatchObject(MESSAGES);
    },
  );
});
