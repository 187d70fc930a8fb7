import Anthropic from "@anthropic-ai/sdk";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startSimulator, type Simulator } from "../../../../local/simulator/simulator.ts";

let simulator: Simulator;
let client: Anthropic;

beforeAll(async () => {
  simulator = await startSimulator();
  client = new Anthropic({ baseURL: simulator.url, apiKey: "any", maxRetries: 0 });
});
afterAll(() => simulator.close());

const weather: Anthropic.Tool = {
  name: "get_weather",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

function ask(content: string) {
  return { model: "m", max_tokens: 500, messages: [{ role: "user", content } as const] };
}

describe("messages through the official SDK", () => {
  test("an answer says that it is a simulation, and the same request gets the same answer", async () => {
    const [one, other] = [await client.messages.create(ask("Hello")), await client.messages.create(ask("Hello"))];
    expect(one.content[0]).toMatchObject({ type: "text", text: expect.stringContaining("simulation of m") });
    expect(one.stop_reason).toBe("end_turn");
    expect(other).toStrictEqual(one);
  });

  test("cached tokens are not part of input_tokens", async () => {
    const message = await client.messages.create({ ...ask("u".repeat(40)), system: "s".repeat(4 * 130) });
    expect(message.usage).toMatchObject({ input_tokens: 12, cache_read_input_tokens: 128, cache_creation_input_tokens: 0 });
  });

  test("a stream adds up to the complete answer, including thinking and tools", async () => {
    const request = { ...ask("Please call get_weather"), model: "reasoner", tools: [weather] };
    const whole = await client.messages.create(request);
    const streamed = await client.messages.stream(request).finalMessage();
    expect(whole.content.map(({ type }) => type)).toStrictEqual(["thinking", "tool_use"]);
    expect(streamed.content).toMatchObject(whole.content);
    expect(streamed.stop_reason).toBe("tool_use");
    expect(streamed.usage.output_tokens).toBe(whole.usage.output_tokens);
    expect(streamed.usage.input_tokens).toBe(whole.usage.input_tokens);
  });

  test("thinking blocks carry a signature if thinking is requested", async () => {
    const message = await client.messages.create({
      ...ask("Why?"),
      max_tokens: 2000,
      thinking: { type: "enabled", budget_tokens: 1024 },
    });
    expect(message.content[0]).toMatchObject({ type: "thinking", signature: expect.stringMatching(/^[\w+/]{43}=$/) });
  });

  test("a named tool is called, and its result answered with text", async () => {
    const first = await client.messages.create({
      ...ask("Go on"),
      tools: [weather],
      tool_choice: { type: "tool", name: "get_weather" },
    });
    const use = first.content.find((block) => block.type === "tool_use");
    expect(use).toMatchObject({ name: "get_weather", input: { city: "simulated city" } });
    const second = await client.messages.create({
      model: "m",
      max_tokens: 500,
      messages: [
        { role: "user", content: "Go on" },
        { role: "assistant", content: first.content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: use?.id ?? "", content: "12 degrees" }] },
      ],
      tools: [weather],
    });
    expect(second.content[0]).toMatchObject({ type: "text", text: expect.stringContaining("12 degrees") });
  });

  test("a tool use without its result is rejected", async () => {
    const messages: Anthropic.MessageParam[] = [
      { role: "user", content: "Go on" },
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "get_weather", input: {} }] },
      { role: "user", content: "And?" },
    ];
    await expect(client.messages.create({ ...ask("Go on"), messages })).rejects.toMatchObject({
      status: 400,
      type: "invalid_request_error",
    });
  });

  test("max_tokens is required and cuts the answer, and stop sequences are reported", async () => {
    const cut = await client.messages.create({ ...ask("[[sim tokens=50]]"), max_tokens: 7 });
    expect(cut).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: 7 } });
    const stopped = await client.messages.create({ ...ask("Hi"), stop_sequences: [" simulation"] });
    expect(stopped).toMatchObject({
      stop_reason: "stop_sequence",
      stop_sequence: " simulation",
      content: [{ text: "This is a" }],
    });
    const without = await fetch(`${simulator.url}/v1/messages`, {
      method: "POST",
      body: '{"model":"m","messages":[{"role":"user","content":"x"}]}',
    });
    expect(without.status).toBe(400);
    expect(await without.json()).toMatchObject({ type: "error", error: { message: expect.stringContaining("max_tokens") } });
  });

  test("count_tokens counts as usage does", async () => {
    const { model, messages } = ask("u".repeat(40));
    expect(await client.messages.countTokens({ model, messages })).toStrictEqual({ input_tokens: 10 });
  });

  test("the model list has the protocol's format", async () => {
    const models = await client.models.list();
    expect(models.data[0]).toMatchObject({ type: "model", id: "simulation" });
  });
});
