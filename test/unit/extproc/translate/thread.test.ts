import Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { encodeError, toGatewayError } from "../../../../contract/errors.ts";
import type { Protocol } from "../../../../contract/protocol.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { inputFor } from "./input.ts";

const MESSAGE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "modelx-v4-pro",
  content: [{ type: "text", text: "Sunny." }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
};

/** The official client, with the gateway's judgement of each request in the place of a network. */
function clientOf(upstream: Protocol) {
  const sent: string[] = [];
  const client = new Anthropic({
    apiKey: "sk-test",
    authToken: null,
    baseURL: "http://127.0.0.1",
    maxRetries: 0,
    fetch: async (_url, init) => {
      const body = await new Response(init?.body).text();
      sent.push(body);
      const headers = { "content-type": "application/json" };
      try {
        createTranslation("messages", inputFor(body, { upstream }));
        return new Response(JSON.stringify(MESSAGE), { headers });
      } catch (thrown) {
        const error = toGatewayError(thrown);
        return new Response(JSON.stringify(encodeError("messages", error, "req_1")), { status: error.status, headers });
      }
    },
  });
  return { client, sent };
}

const REQUEST = {
  model: "modelx-v4-pro",
  max_tokens: 100,
  messages: [{ role: "user" as const, content: "Weather?" }],
  tools: [],
};

test.for(["chat", "messages", "responses"] as const)(
  "%s server: the SDK's tool runner sends the whole conversation once its thread is refused",
  async (upstream) => {
    const { client, sent } = clientOf(upstream);
    const message = await client.beta.messages.toolRunner(REQUEST).runUntilDone();
    expect(message.content).toMatchObject([{ type: "text", text: "Sunny." }]);
    expect(sent.map((body) => Object.hasOwn(JSON.parse(body), "thread"))).toEqual([true, false]);
  },
);

test.for(["chat", "messages", "responses"] as const)("%s server: a refused thread names its field", (upstream) => {
  const request = { ...REQUEST, thread: { type: "continue", previous_message_id: "msg_1" } };
  expect(() => createTranslation("messages", inputFor(request, { upstream }))).toThrow(
    expect.objectContaining({
      status: 400,
      field: "thread",
      details: { error_code: "thread_unsupported_request", unsupported: ["thread"] },
    }),
  );
  expect(() => createTranslation("messages", inputFor({ ...REQUEST, thread: null }, { upstream }))).not.toThrow();
});
