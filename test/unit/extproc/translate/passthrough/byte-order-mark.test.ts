import { expect, test } from "vitest";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

const REQUEST = { model: "m", max_tokens: 10, messages: [{ role: "user", content: "hi" }], input: "hi" };

test.for([
  [
    "chat",
    {
      id: "c",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
    },
  ],
  [
    "messages",
    {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [{ type: "text", text: "hello" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 5, output_tokens: 2 },
    },
  ],
  [
    "responses",
    {
      id: "resp_1",
      object: "response",
      created_at: 1,
      status: "completed",
      model: "m",
      output: [{ id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text: "hello" }] }],
      usage: {
        input_tokens: 5,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: 2,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 7,
      },
    },
  ],
] as const)("a complete %s answer after a byte order mark passes without it", ([protocol, answer]) => {
  const meter = createMeter(10);
  const text = JSON.stringify(answer);
  const translation = createTranslation(protocol, inputFor(REQUEST, { upstream: protocol, upstreamModel: "m" }));
  expect(translation.response(Buffer.from(`\u{FEFF}${text}`), meter).toString()).toBe(text);
  expect(meter.final()).toMatchObject({ usage: { inputTokens: 5, outputTokens: 2 }, isEstimated: false });
});
