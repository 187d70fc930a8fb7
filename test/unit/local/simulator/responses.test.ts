import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startSimulator, type Simulator } from "../../../../local/simulator/simulator.ts";

let simulator: Simulator;
let client: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator({ port: 0 });
  client = new OpenAI({ apiKey: "any", baseURL: `${simulator.url}/v1`, maxRetries: 0 });
});
afterAll(() => simulator.close());

const common = { model: "m", store: false } as const;
const tool = (name: string) =>
  ({ type: "function", name, strict: true, parameters: { type: "object", properties: {}, required: [] } }) as const;

test("tokens are counted as usage counts them", async () => {
  const asked = { model: "m", input: "u".repeat(40) };
  const { usage } = await client.responses.create({ ...asked, store: false });
  expect(await client.responses.inputTokens.count(asked)).toEqual({
    object: "response.input_tokens",
    input_tokens: usage?.input_tokens,
  });
});

test("only allowed tools are called", async () => {
  const response = await client.responses.create({
    ...common,
    input: "Call get_weather or get_time.",
    tools: [tool("get_weather"), tool("get_time")],
    tool_choice: { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "get_time" }] },
  });
  expect(response.output).toMatchObject([{ type: "function_call", name: "get_time" }]);
});

test("JSON mode is answered with an object", async () => {
  const response = await client.responses.create({
    ...common,
    input: "Answer in JSON.",
    text: { format: { type: "json_object" } },
  });
  expect(JSON.parse(response.output_text)).toEqual({ answer: expect.stringContaining("Answer in JSON.") });
  expect(response.usage?.input_tokens_details).toEqual({ cached_tokens: 0, cache_write_tokens: 0 });
});
