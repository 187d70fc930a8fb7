import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../../../contract/errors.ts";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { answer, chunk, completion, PLAIN, play, translate } from "./chat.ts";

const FINISH = { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
const call = (index: number, id: string, text: string) => ({
  tool_calls: [{ index, id, type: "function", function: { name: "f", arguments: text } }],
});
const more = (index: number, text: string) => ({ tool_calls: [{ index, function: { arguments: text } }] });
const eventsOf = (text: string) => [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
const data = (value: object | string) => Buffer.from(`data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`);

describe("text is sent as it arrives (S14)", () => {
  test("each chunk is answered by its own events", () => {
    const stream = translate({ ...PLAIN, stream: true }).stream(createMeter(0));
    expect(String(stream.push(data(chunk({ role: "assistant", content: "" }))))).toContain("message_start");
    expect(String(stream.push(data(chunk({ content: "Good" }))))).toContain('"text_delta","text":"Good"');
    expect(String(stream.push(data(chunk({ content: " day" }))))).toContain('"text_delta","text":" day"');
  });

  test("a tool's arguments too, and the next tool's as soon as the first are complete", () => {
    const stream = translate({ ...PLAIN, stream: true }).stream(createMeter(0));
    stream.push(data(chunk(call(0, "a", '{"x":'))));
    expect(String(stream.push(data(chunk(more(0, "1}")))))).toContain('"partial_json":"1}"');
    expect(String(stream.push(data(chunk(call(1, "b", '{"y"')))))).toContain('"partial_json":"{\\"y\\""');
  });

  test("a second tool waits while the first is incomplete, and loses nothing", () => {
    const played = play([chunk(call(0, "a", '{"x":"}')), chunk(call(1, "b", '{"y":2}')), chunk(more(0, '"}')), FINISH, "[DONE]"]);
    const deltas = [...played.text.matchAll(/"index":(\d),"delta":\{"type":"input_json_delta","partial_json":"(.*?)"\}\}$/gm)];
    expect(deltas.map(([, index, json]) => `${index} ${json}`)).toEqual(['0 {\\"x\\":\\"}', '0 \\"}', '1 {\\"y\\":2}']);
  });
});

describe("a last chunk that repeats the whole message", () => {
  const message = { role: "assistant", content: "Good day", tool_calls: [{ id: "a", function: { name: "f", arguments: "{}" } }] };
  const last = { ...chunk({}), object: "chat.completion", choices: [{ index: 0, message, finish_reason: "tool_calls" }] };

  test("shows nothing twice", () => {
    const { text, outcome } = play([chunk({ content: "Good" }), chunk({ content: " day" }), chunk(call(0, "a", "{}")), last]);
    expect(text.match(/text_delta/g)).toHaveLength(2);
    expect(text.match(/"type":"tool_use"/g)).toHaveLength(1);
    expect(text).toContain('"stop_reason":"tool_use"');
    expect(outcome).toBe("complete");
  });

  test("is the answer if nothing came before it", () => {
    expect(play([last]).text).toContain("Good day");
  });
});

describe("the only choice is the answer, whatever its number", () => {
  const numbered = (index: number, delta: object, reason: string | null = null) => ({
    ...chunk({}),
    choices: [{ index, delta, finish_reason: reason }],
  });

  test("in a stream, where further choices are none", () => {
    const pieces = [numbered(1, { role: "assistant", content: "Good" }), numbered(1, { content: " day" })];
    const other = numbered(0, { content: "Bad" });
    const { text, outcome } = play([...pieces, other, numbered(1, {}, "stop"), "[DONE]"]);
    expect([...text.matchAll(/"text_delta","text":"(.*?)"/g)].map(([, piece]) => piece)).toEqual(["Good", " day"]);
    expect(outcome).toBe("complete");
  });

  test("in a whole answer, where that of the number 0 comes first", () => {
    const choice = (index: number, content: string) => ({
      index,
      message: { role: "assistant", content },
      finish_reason: "stop",
    });
    const whole = (...choices: object[]) => JSON.stringify(answer({ ...completion({ content: "" }), choices }));
    expect(whole(choice(1, "Good day"))).toContain("Good day");
    expect(whole(choice(1, "Good day"), choice(0, "Hello"))).toContain("Hello");
  });
});

describe("a stream ends exactly once", () => {
  test("nothing follows the ending, whatever the upstream still sends", () => {
    const played = play([
      chunk({ content: "x" }),
      FINISH,
      "[DONE]",
      chunk({ content: "y" }),
      "[DONE]",
      { error: { message: "late" } },
    ]);
    expect(eventsOf(played.text).filter((name) => name === "message_stop" || name === "error")).toEqual(["message_stop"]);
    expect(played.outcome).toBe("complete");
  });

  test("nothing follows an error", () => {
    const played = play([
      chunk({ content: "x" }),
      { error: { message: "boom", code: 500 } },
      chunk({ content: "y" }),
      FINISH,
      "[DONE]",
    ]);
    expect(eventsOf(played.text)).toEqual(["message_start", "content_block_start", "content_block_delta", "error"]);
    expect(played.outcome).toBe("failed");
  });

  test("the gateway's own error ends it too, once, and not after an ending", () => {
    const error = new GatewayError("insufficient_balance", "Insufficient balance.");
    const stream = translate({ ...PLAIN, stream: true }).stream(createMeter(0));
    stream.push(data(chunk({ content: "x" })));
    expect(stream.fail(error).toString()).toContain('"type":"billing_error"');
    expect(stream.outcome()).toBe("failed");
    expect([stream.fail(error), stream.push(data(FINISH)), stream.end()].map(String)).toEqual(["", "", ""]);

    const ended = translate({ ...PLAIN, stream: true }).stream(createMeter(0));
    ended.push(Buffer.concat([data(chunk({ content: "x" })), data(FINISH), data("[DONE]")]));
    expect(ended.fail(error).toString()).toBe("");
    expect(ended.outcome()).toBe("complete");
  });

  test("an empty stream is an error", () => {
    for (const body of ["", "\n\n", "data: [DONE]\n\n", "<html>busy</html>", ": comment\n\n"]) {
      const stream = translate({ ...PLAIN, stream: true }).stream(createMeter(0));
      const text = String(stream.push(Buffer.from(body))) + String(stream.end());
      expect(eventsOf(text)).toEqual(["error"]);
      expect(stream.outcome()).not.toBe("complete");
    }
  });
});

describe("the usage", () => {
  test("is the upstream's last report, never a sum", () => {
    const meter = createMeter(1_000);
    const stream = translate({ ...PLAIN, stream: true }).stream(meter);
    for (const completionTokens of [1, 2, 3]) {
      stream.push(data(chunk({ content: "x" }, { usage: { prompt_tokens: 50, completion_tokens: completionTokens } })));
    }
    stream.push(Buffer.concat([data(FINISH), data("[DONE]")]));
    expect(meter.final()).toMatchObject({ usage: { inputTokens: 50, outputTokens: 3 }, isEstimated: false });
  });

  test("is exact as far as it went if a stream with usage on every chunk is cut", () => {
    const meter = createMeter(1_000);
    const stream = translate({ ...PLAIN, stream: true }, { profile: "vllm" }).stream(meter);
    stream.push(data(chunk({ content: "x" }, { usage: { prompt_tokens: 50, completion_tokens: 7 } })));
    stream.end();
    expect(meter.final()).toMatchObject({ usage: { inputTokens: 50, outputTokens: 7 }, isEstimated: false });
    expect(stream.outcome()).toBe("truncated");
  });

  test("is our own count of text, reasoning and arguments if the upstream reports none", () => {
    const meter = createMeter(100);
    const stream = translate({ ...PLAIN, stream: true }).stream(meter);
    stream.push(
      Buffer.concat([
        data(chunk({ reasoning_content: "r".repeat(40) })),
        data(chunk({ content: "t".repeat(40) })),
        data(chunk(call(0, "a", `{"k":"${"v".repeat(32)}"}`))),
      ]),
    );
    expect(meter.final()).toMatchObject({ usage: { inputTokens: 100, outputTokens: 30 }, isEstimated: true });
  });

  test("is the one that the client reads", () => {
    const usage = { prompt_tokens: 100, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 64 } };
    const message = answer({ ...completion({ content: "x" }), usage });
    expect(message).toMatchObject({
      usage: { input_tokens: 36, cache_read_input_tokens: 64, cache_creation_input_tokens: 0, output_tokens: 9 },
    });
  });
});

describe("complete answers", () => {
  test("become a stream if the client requested one", () => {
    const body = Buffer.from(JSON.stringify(completion({ content: "Good day" })));
    const stream = translate({ ...PLAIN, stream: true }).stream(createMeter(0));
    const text = `${String(stream.push(body))}${String(stream.end())}`;
    expect(eventsOf(text)).toEqual([
      "message_start",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ]);
  });

  const noAnswers = [
    "",
    "null",
    "[]",
    "7",
    "{",
    '{"choices":[]}',
    '{"choices":null}',
    "<html>",
    '{"choices":[{"index":0}]}',
    '{"choices":{"0":{}}}',
  ];
  test.for(noAnswers)("that are invalid are upstream errors, never bugs: %j", (body) => {
    expect(() => answer(body)).toThrow(expect.objectContaining({ code: "upstream_error", status: 502 }));
  });

  test("that contain an error throw it with its class", () => {
    expect(() => answer({ error: { message: "slow down", code: 429 } })).toThrow(
      expect.objectContaining({ code: "rate_limited" }),
    );
    expect(() => answer(completion({ content: "" }, { finish_reason: "insufficient_system_resource" }))).toThrow(
      expect.objectContaining({ code: "overloaded" }),
    );
  });

  test.for([
    ["stop", {}, "end_turn"],
    ["length", {}, "max_tokens"],
    ["content_filter", {}, "refusal"],
    ["MAX_TOKENS", {}, "max_tokens"],
    ["model_length", {}, "max_tokens"],
    ["model_context_window_exceeded", {}, "max_tokens"],
    ["SAFETY", {}, "refusal"],
    ["sensitive", {}, "refusal"],
    ["tool_calls", {}, "end_turn"],
    ["eos_token", {}, "end_turn"],
    [null, {}, "end_turn"],
    ["stop", { refusal: "No." }, "refusal"],
    ["stop", { tool_calls: [{ id: "a", function: { name: "f", arguments: "{}" } }] }, "tool_use"],
    ["length", { tool_calls: [{ id: "a", function: { name: "f", arguments: "{}" } }] }, "max_tokens"],
    ["function_call", { function_call: { name: "f", arguments: "{}" } }, "tool_use"],
  ] as const)("finish_reason %s with %j is stop_reason %s", ([finish, message, stop]) => {
    expect(answer(completion({ content: "x", ...message }, { finish_reason: finish }))).toMatchObject({ stop_reason: stop });
  });

  test("a stop sequence is named if it was requested", () => {
    const stopped = (rest: object) => answer(completion({ content: "x" }, rest), { stop_sequences: ["END"] });
    expect(stopped({ stop_reason: "END" })).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: "END" });
    expect(stopped({ matched_stop: "END" })).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: "END" });
    expect(stopped({ stop_reason: 2 })).toMatchObject({ stop_reason: "end_turn", stop_sequence: null });
    expect(stopped({ stop_reason: "OTHER" })).toMatchObject({ stop_reason: "end_turn", stop_sequence: null });
  });

  test("repeat the name that the client requested", () => {
    expect(answer(completion({ content: "x" }), { model: "my-alias" })).toMatchObject({ model: "my-alias" });
  });
});
