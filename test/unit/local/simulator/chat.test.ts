import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startSimulator, type Simulator } from "../../../../local/simulator/simulator.ts";

let simulator: Simulator;
let client: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator();
  client = new OpenAI({ baseURL: `${simulator.url}/v1`, apiKey: "any", maxRetries: 0 });
});
afterAll(() => simulator.close());

const weather: OpenAI.ChatCompletionFunctionTool = {
  type: "function",
  function: {
    name: "get_weather",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", minimum: 3 }, unit: { enum: ["celsius", "fahrenheit"] } },
      required: ["city", "days", "unit"],
    },
  },
};

function user(content: string) {
  return { role: "user", content } as const;
}

describe("chat completions through the official SDK", () => {
  test("an answer says that it is a simulation, and the same request gets the same answer", async () => {
    const request = { model: "any-model", messages: [user("Hello")] };
    const [one, other] = [await client.chat.completions.create(request), await client.chat.completions.create(request)];
    expect(one.choices[0]?.message.content).toContain("simulation of any-model");
    expect(one.choices[0]?.finish_reason).toBe("stop");
    expect(other).toStrictEqual(one);
  });

  test("usage counts four bytes per token, and all messages but the last as cached, in blocks of 64", async () => {
    const completion = await client.chat.completions.create({
      model: "m",
      messages: [{ role: "system", content: "s".repeat(4 * 130) }, user("u".repeat(40))],
    });
    expect(completion.usage).toMatchObject({ prompt_tokens: 140, prompt_tokens_details: { cached_tokens: 128 } });
    expect(completion.usage?.total_tokens).toBe(140 + (completion.usage?.completion_tokens ?? 0));
  });

  test("a stream adds up to the complete answer", async () => {
    const request = { model: "reasoner", messages: [user("Please call get_weather")], tools: [weather] };
    const whole = await client.chat.completions.create(request);
    const streamed = await client.chat.completions
      .stream({ ...request, stream_options: { include_usage: true } })
      .finalChatCompletion();
    expect(streamed.choices[0]?.message.tool_calls).toMatchObject(whole.choices[0]?.message.tool_calls ?? []);
    expect(streamed.choices[0]?.finish_reason).toBe("tool_calls");
    expect(streamed.usage).toStrictEqual(whole.usage);
  });

  test("usage is streamed only on request, and on each chunk only if that is requested", async () => {
    const request: OpenAI.ChatCompletionCreateParamsStreaming = { model: "m", messages: [user("Hello")], stream: true };
    const usages = async (options: object) => {
      const seen: unknown[] = [];
      for await (const chunk of await client.chat.completions.create({ ...request, ...options })) seen.push(chunk.usage);
      return seen;
    };
    expect(new Set(await usages({}))).toStrictEqual(new Set([undefined]));
    const atEnd = await usages({ stream_options: { include_usage: true } });
    expect(atEnd.slice(0, -1).every((usage) => usage === null)).toBe(true);
    expect(atEnd.at(-1)).toMatchObject({ completion_tokens: expect.any(Number) });
    const always = await usages({ stream_options: { include_usage: true, continuous_usage_stats: true } });
    expect(always.every((usage) => usage !== null)).toBe(true);
    expect(always.at(-1)).toStrictEqual(atEnd.at(-1));
  });

  test("forced and parallel tools are called with arguments that match the schema", async () => {
    const time = { type: "function", function: { name: "get_time", parameters: { type: "object", properties: {} } } } as const;
    const completion = await client.chat.completions.create({
      model: "m",
      messages: [user("Go on [[sim tools=2]]")],
      tools: [weather, time],
      tool_choice: "required",
    });
    expect(completion.choices[0]?.message.content).toBeNull();
    expect(completion.choices[0]?.message.tool_calls).toMatchObject([
      { type: "function", function: { name: "get_weather", arguments: '{"city":"simulated city","days":3,"unit":"celsius"}' } },
      { type: "function", function: { name: "get_time", arguments: "{}" } },
    ]);
  });

  test("a long line with many words that might ask for tools is answered", async () => {
    const long = "use ".repeat(500_000);
    const asked = (content: string) =>
      client.chat.completions.create({ model: "m", messages: [user(content)], tools: [weather] });
    expect((await asked(long)).choices[0]?.message.tool_calls).toBeUndefined();
    expect((await asked(`${long} a tool`)).choices[0]?.message.tool_calls).toHaveLength(1);
    expect((await asked("use\na tool")).choices[0]?.message.tool_calls).toBeUndefined();
  });

  test("only allowed tools are called", async () => {
    const time = { type: "function", function: { name: "get_time", parameters: { type: "object", properties: {} } } } as const;
    const completion = await client.chat.completions.create({
      model: "m",
      messages: [user("Call get_weather or get_time.")],
      tools: [weather, time],
      tool_choice: {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "get_time" } }] },
      },
    });
    expect(completion.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: "get_time" } }]);
  });

  test("JSON mode is answered with an object", async () => {
    const completion = await client.chat.completions.create({
      model: "m",
      messages: [user("Answer in JSON.")],
      response_format: { type: "json_object" },
    });
    expect(JSON.parse(completion.choices[0]?.message.content ?? "")).toEqual({
      answer: expect.stringContaining("Answer in JSON."),
    });
  });

  test("a tool result is answered with text about it", async () => {
    const first = await client.chat.completions.create({ model: "m", messages: [user("call get_weather")], tools: [weather] });
    const call = first.choices[0]?.message;
    expect(call).toBeDefined();
    const second = await client.chat.completions.create({
      model: "m",
      messages: [
        user("call get_weather"),
        ...(call === undefined ? [] : [call]),
        { role: "tool", tool_call_id: call?.tool_calls?.[0]?.id ?? "", content: "12 degrees" },
      ],
      tools: [weather],
    });
    expect(second.choices[0]?.message.content).toContain("12 degrees");
  });

  test("a tool message without a call before it is rejected", async () => {
    const request = { model: "m", messages: [{ role: "tool", tool_call_id: "call_1", content: "x" } as const] };
    await expect(client.chat.completions.create(request)).rejects.toMatchObject({ status: 400 });
  });

  test.for([
    { name: "by effort", model: "m", request: { reasoning_effort: "low" }, reasons: true },
    { name: "by the model's name", model: "a-reasoner", request: {}, reasons: true },
    { name: "not when it is turned off", model: "a-reasoner", request: { reasoning_effort: "none" }, reasons: false },
    { name: "not by itself", model: "m", request: {}, reasons: false },
  ] as const)("it thinks aloud: $name", async ({ model, request, reasons }) => {
    const completion = await client.chat.completions.create({ model, messages: [user("Why?")], ...request });
    expect("reasoning_content" in (completion.choices[0]?.message ?? {})).toBe(reasons);
    expect((completion.usage?.completion_tokens_details?.reasoning_tokens ?? 0) > 0).toBe(reasons);
  });

  test("max_tokens cuts the answer and stop ends it", async () => {
    const cut = await client.chat.completions.create({ model: "m", messages: [user("[[sim tokens=50]]")], max_tokens: 7 });
    expect(cut.choices[0]?.finish_reason).toBe("length");
    expect(cut.usage?.completion_tokens).toBe(7);
    const stopped = await client.chat.completions.create({ model: "m", messages: [user("Hi")], stop: [" simulation"] });
    expect(stopped.choices[0]?.message.content).toBe("This is a");
    expect(stopped.choices[0]?.finish_reason).toBe("stop");
  });

  test("the model list has the protocol's format", async () => {
    const models = await client.models.list();
    expect(models.data[0]).toMatchObject({ object: "model", id: "simulation" });
  });
});
