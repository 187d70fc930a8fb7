import { describe, expect, test } from "vitest";
import { createMeter } from "../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../extproc/translate/choose.ts";
import { inputFor } from "./input.ts";
import { answer, chunk, completion, play } from "./messages-via-chat/chat.ts";

/** Dropped, a call that the model made would leave an answer that seems complete. */
const MESSAGE = "The model server sent a tool call without a name. Try again.";
const REFUSED = expect.objectContaining({ code: "upstream_error", message: MESSAGE });

describe("a chat server's call that never gets a name", () => {
  const piece = { index: 0, id: "call_1", function: { arguments: '{"a":1}' } };
  const ending = (finish_reason: string) => ({ choices: [{ index: 0, delta: {}, finish_reason }] });

  test.for([
    ["with an id and arguments", piece],
    ["with an id only", { index: 0, id: "call_1", function: { name: "", arguments: "" } }],
    ["with arguments only", { index: 0, function: { name: null, arguments: "7" } }],
  ] as const)("%s ends a stream with an error, after the text before it", ([, call]) => {
    const { text, outcome } = play([chunk({ content: "Let me see." }), chunk({ tool_calls: [call] }), ending("tool_calls")]);
    expect(outcome).toBe("failed");
    expect(text).toContain("Let me see.");
    expect(text).toContain(MESSAGE);
    expect(text).not.toContain("message_stop");
  });

  test("is an error in a complete answer", () => {
    expect(() => answer(completion({ content: null, tool_calls: [piece] }))).toThrow(REFUSED);
  });

  test("is left out if tokens ran out before its name", () => {
    const { text, outcome } = play([chunk({ content: "Let me see." }), chunk({ tool_calls: [piece] }), ending("length")]);
    expect(outcome).toBe("complete");
    expect(text).toContain('"stop_reason":"max_tokens"');
    expect(text).not.toContain("tool_use");
  });

  test("is left out if there is nothing in it", () => {
    const call = { index: 0, id: "", function: { name: "", arguments: "" } };
    const { text, outcome } = play([chunk({ content: "Good day" }), chunk({ tool_calls: [call] }), ending("stop")]);
    expect(outcome).toBe("complete");
    expect(text).not.toContain("tool_use");
  });

  test("is opened once its name comes, with all of its arguments", () => {
    const { text } = play([
      chunk({ tool_calls: [piece] }),
      chunk({ tool_calls: [{ index: 0, function: { name: "f" } }] }),
      ending("tool_calls"),
    ]);
    expect(text).toContain('"name":"f"');
    expect(text).toContain('"partial_json":"{\\"a\\":1}"');
  });
});

describe("a responses server's call without a name", () => {
  const request = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
  const translate = () => createTranslation("messages", inputFor(request, { upstream: "responses" }));
  const response = (item: object) => ({ id: "resp_1", object: "response", status: "completed", output: [item], usage: {} });

  test.for([{ name: "" }, { name: null }, {}])("is an error: %j", (named) => {
    const item = { type: "function_call", id: "fc_1", call_id: "call_1", arguments: "{}", ...named };
    const body = Buffer.from(JSON.stringify(response(item)));
    expect(() => translate().response(body, createMeter(0))).toThrow(REFUSED);

    const stream = translate().stream(createMeter(0));
    const events = [
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: "{}" },
      { type: "response.completed", response: response(item) },
    ];
    const text = events.map((event) => String(stream.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`)))).join("");
    expect(text).toContain(MESSAGE);
    expect(text).not.toContain("message_stop");
    expect(stream.outcome()).toBe("failed");
  });

  test("is opened if its finished item has one", () => {
    const item = { type: "function_call", id: "fc_1", call_id: "call_1", arguments: '{"a":1}' };
    const stream = translate().stream(createMeter(0));
    const events = [
      { type: "response.output_item.added", output_index: 0, item: { ...item, name: "", arguments: "" } },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"a":1}' },
      { type: "response.output_item.done", output_index: 0, item: { ...item, name: "f" } },
      { type: "response.completed", response: response({ ...item, name: "f" }) },
    ];
    const text = events.map((event) => String(stream.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`)))).join("");
    expect(text).toContain('"name":"f"');
    expect(text.split('"partial_json":"{\\"a\\":1}"')).toHaveLength(2);
    expect(stream.outcome()).toBe("complete");
  });
});
