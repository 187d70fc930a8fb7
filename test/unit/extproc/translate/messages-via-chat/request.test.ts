import { describe, expect, test } from "vitest";
import { chatFor, PLAIN, translate, turns, type Setup } from "./chat.ts";

const refusedAt = (field: string) => expect.objectContaining({ code: "invalid_request", status: 400, field });

describe("the output limit", () => {
  test("is sent in the server's field, at most the model's own", () => {
    expect(chatFor({ max_tokens: 100_000 })).toMatchObject({ max_tokens: 8192 });
    expect(chatFor({ max_tokens: 17 }, { profile: "openai" })).toMatchObject({ max_completion_tokens: 17 });
    expect(chatFor({ max_tokens: 17 }, { profile: "openai" })).not.toHaveProperty("max_tokens");
  });
});

describe("the system prompt", () => {
  test("is one leading message, joined or in parts as the server accepts it", () => {
    const system = [
      { type: "text", text: "One." },
      { type: "text", text: "Two." },
    ];
    expect(chatFor({ system }).messages[0]).toEqual({ role: "system", content: "One.\nTwo." });
    expect(chatFor({ system }, { profile: "openai" }).messages[0]).toEqual({ role: "system", content: system });
  });

  test("loses the agents' billing line, which would invalidate every prompt cache", () => {
    const system = [
      { type: "text", text: "x-anthropic-billing-header: cch=1;" },
      { type: "text", text: "You code." },
    ];
    expect(chatFor({ system }).messages[0]).toEqual({ role: "system", content: "You code." });
    expect(chatFor({ system: "x-anthropic-billing-header: cch=1;\nYou code." }).messages[0]).toEqual({
      role: "system",
      content: "You code.",
    });
    expect(chatFor({ system: "x-anthropic-billing-header: cch=1;" }).messages).toEqual([{ role: "user", content: "hi" }]);
  });

  test("is absent if it is empty", () => {
    for (const system of ["", [], null]) expect(chatFor({ system }).messages).toEqual([{ role: "user", content: "hi" }]);
  });
});

describe("sampling and stop", () => {
  test("are passed on unchanged", () => {
    expect(chatFor({ temperature: 0, top_p: 1, top_k: 5, stop_sequences: ["a", "b"] })).toMatchObject({
      temperature: 0,
      top_p: 1,
      top_k: 5,
      stop: ["a", "b"],
    });
  });

  test("are dropped and listed if the server rejects them", () => {
    const request = { ...PLAIN, temperature: 1, top_k: 5, stop_sequences: ["a"] };
    const translation = translate(request, { flags: { rejects: ["temperature", "top_k", "stop"] } });
    expect(translation.dropped).toEqual(["temperature", "top_k", "stop_sequences"]);
    expect(Object.keys(JSON.parse(translation.upstream.body.toString()))).toEqual(["model", "messages", "max_tokens"]);
  });

  test("more stop sequences than the server accepts are refused: a missing one would change the answer", () => {
    const request = { ...PLAIN, stop_sequences: ["a", "b", "c", "d", "e"] };
    expect(() => translate(request, { profile: "openai" })).toThrow(refusedAt("stop_sequences"));
    expect(translate(request).dropped).toEqual([]);
  });
});

describe("streaming", () => {
  test("always requests usage (S28)", () => {
    expect(chatFor({ stream: true })).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(chatFor({ stream: true }, { profile: "vllm" })).toMatchObject({
      stream_options: { include_usage: true, continuous_usage_stats: true },
    });
  });

  test("does not request it from a server that rejects this, and reports it unasked", () => {
    const flags: Setup["flags"] = { rejects: ["stream_options"] };
    const chat = chatFor({ stream: true }, { flags });
    expect(chat).toMatchObject({ stream: true });
    expect(chat).not.toHaveProperty("stream_options");
  });

  test("is not mentioned unless it was requested", () => {
    for (const stream of [false, null, undefined]) {
      const translation = translate({ ...PLAIN, stream });
      expect(translation.wantsStream).toBe(false);
      expect(JSON.parse(translation.upstream.body.toString())).not.toHaveProperty("stream");
    }
  });
});

describe("thinking", () => {
  const on = (budget: number) => ({ thinking: { type: "enabled", budget_tokens: budget } });

  test.for([
    [512, "minimal"],
    [1_024, "low"],
    [8_192, "medium"],
    [24_576, "high"],
    [60_000, "xhigh"],
  ] as const)("a budget of %i tokens is the effort %s", ([budget, effort]) => {
    expect(chatFor(on(budget), { profile: "openai" })).toMatchObject({ reasoning_effort: effort });
  });

  test("an explicit effort takes precedence over a budget", () => {
    expect(chatFor({ ...on(60_000), output_config: { effort: "low" } })).toMatchObject({ reasoning_effort: "low" });
  });

  test("an effort is sent in the word that the server knows", () => {
    expect(chatFor({ output_config: { effort: "max" } }, { profile: "generic" })).toMatchObject({ reasoning_effort: "high" });
    expect(chatFor({ output_config: { effort: "medium" } }, { profile: "deepseek" })).toMatchObject({ reasoning_effort: "high" });
    expect(chatFor({ output_config: { effort: "max" } }, { profile: "openai" })).toMatchObject({ reasoning_effort: "max" });
  });

  test("adaptive leaves it to the model", () => {
    for (const profile of ["generic", "vllm", "deepseek"] as const) {
      const chat = chatFor({ thinking: { type: "adaptive" } }, { profile });
      expect(Object.keys(chat)).toEqual(["model", "messages", "max_tokens"]);
    }
  });

  test("is disabled in the server's own way", () => {
    const thinking = { type: "disabled" };
    expect(chatFor({ thinking })).toMatchObject({ reasoning_effort: "none" });
    expect(chatFor({ thinking }, { profile: "deepseek" })).toMatchObject({ thinking: { type: "disabled" } });
    expect(chatFor({ thinking }, { profile: "vllm" })).toMatchObject({
      chat_template_kwargs: { enable_thinking: false, thinking: false },
    });
  });

  test("that is off stays off, whatever the effort", () => {
    const request = { ...PLAIN, thinking: { type: "disabled" }, output_config: { effort: "high" } };
    expect(chatFor(request)).toMatchObject({ reasoning_effort: "none" });
    expect(chatFor(request, { profile: "deepseek" })).not.toHaveProperty("reasoning_effort");
    expect(translate(request).dropped).toEqual(["output_config"]);
  });

  test("is dropped and listed if the server has no switch", () => {
    const translation = translate(
      { ...PLAIN, ...on(2048), output_config: { effort: "high" } },
      { flags: { thinkingControl: "none" } },
    );
    expect(translation.dropped).toEqual(["thinking", "output_config"]);
  });
});

describe("a response schema", () => {
  const closed = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };
  const format = (schema: object) => ({ output_config: { format: { type: "json_schema", schema } } });

  test("is response_format with a name; strict only if chat's strict mode allows it", () => {
    expect(chatFor(format(closed))).toMatchObject({
      response_format: { type: "json_schema", json_schema: { name: "response", strict: true, schema: closed } },
    });
    expect(chatFor(format({ ...closed, required: [] }))).toMatchObject({ response_format: { json_schema: { strict: false } } });
    expect(chatFor(format({ type: "object", properties: { a: { type: "object" } } }))).toMatchObject({
      response_format: { json_schema: { strict: false } },
    });
  });

  test("is read from its older field too", () => {
    expect(chatFor({ output_format: { type: "json_schema", schema: closed } })).toMatchObject({
      response_format: { json_schema: { schema: closed } },
    });
  });

  test("is an instruction if the server does not support schemas", () => {
    const chat = chatFor({ ...format(closed), system: "Be nice." }, { flags: { jsonSchema: "instruct" } });
    expect(chat).not.toHaveProperty("response_format");
    expect(chat.messages[0]?.content).toContain(`Be nice.\nAnswer with one JSON object`);
    expect(chat.messages[0]?.content).toContain(JSON.stringify(closed));
  });
});

describe("the end user", () => {
  test("is sent if the server accepts it, at most 64 characters, the same each time", () => {
    const user = (userId: string) => chatFor({ metadata: { user_id: userId } }, { profile: "openai" })["user"];
    expect(user("user-17")).toBe("user-17");
    expect(user("x".repeat(200))).toMatch(/^[0-9a-f]{64}$/);
    expect(user("x".repeat(200))).toBe(user("x".repeat(200)));
    expect(user("x".repeat(200))).not.toBe(user("x".repeat(201)));
  });
});

describe("a prefilled answer", () => {
  const request = turns(["user", "2+2?"], ["assistant", "The answer is"]);

  test("is continued if the server can", () => {
    expect(chatFor(request, { profile: "vllm" })).toMatchObject({ continue_final_message: true, add_generation_prompt: false });
    expect(chatFor(request, { flags: { prefill: "prefix" } }).messages.at(-1)).toEqual({
      role: "assistant",
      content: "The answer is",
      prefix: true,
    });
  });

  test("is refused if it would be answered instead of continued", () => {
    expect(() => translate({ ...PLAIN, ...request })).toThrow(refusedAt("messages[1]"));
  });
});
