import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createMeter } from "../../../../../extproc/meter/meter.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

/** Clients made from the schema of Open Responses, such as OpenRouter's SDKs, throw for a response that lacks one of these. */
const count = z.int().nonnegative();
const functionTool = z.object({
  type: z.literal("function"),
  name: z.string(),
  description: z.string().nullable(),
  parameters: z.looseObject({}).nullable(),
  strict: z.boolean().nullable(),
});
const responseSchema = z.object({
  id: z.string(),
  object: z.literal("response"),
  created_at: count,
  completed_at: count.nullable(),
  status: z.string(),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(z.looseObject({ type: z.string() })),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(z.union([functionTool, z.object({ type: z.literal("custom") })])),
  tool_choice: z.union([z.string(), z.looseObject({})]),
  truncation: z.enum(["auto", "disabled"]),
  parallel_tool_calls: z.boolean(),
  text: z.object({ format: z.looseObject({ type: z.string() }) }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: count,
  temperature: z.number(),
  reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }),
  user: z.string().nullable(),
  usage: z.looseObject({ input_tokens: count, output_tokens: count, total_tokens: count }).nullable(),
  max_output_tokens: count.nullable(),
  max_tool_calls: count.nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.looseObject({}),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
});

const CREATED = 1_800_000_000;
const DELTA = { role: "assistant", content: "Good day." };
const HEAD = { id: "chatcmpl-1", created: 1, model: "m" };
const WHOLE = {
  ...HEAD,
  object: "chat.completion",
  choices: [{ index: 0, message: DELTA, finish_reason: "stop" }],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
};

const REQUESTS = {
  least: { model: "m", input: "hi" },
  most: {
    model: "m",
    input: "hi",
    instructions: "Be brief.",
    temperature: 0.5,
    reasoning: { effort: "low" },
    text: { verbosity: "low" },
    tools: [
      { type: "function", name: "look" },
      { type: "custom", name: "run" },
    ],
    prompt_cache_key: "key",
    safety_identifier: "user-17",
    max_tool_calls: 3,
  },
};

function translate(request: object) {
  return createTranslation("responses", { ...inputFor(request, { upstream: "chat" }), secondsNow: () => CREATED + 5 });
}

function play(request: object, finish: string | null) {
  const stream = translate({ ...request, stream: true }).stream(createMeter(5, { outputTokens: 1_000 }));
  const chunk = (delta: object, reason: string | null = null) =>
    `data: ${JSON.stringify({ ...HEAD, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
  const end = finish === null ? "" : `${chunk({}, finish)}data: [DONE]\n\n`;
  return String(stream.push(Buffer.from(chunk(DELTA) + end))) + String(stream.end());
}

const eventSchema = z.looseObject({ response: z.unknown().optional() });

/** The responses in a stream, checked. */
function responsesIn(text: string): z.infer<typeof responseSchema>[] {
  return text.split("\n").flatMap((line) => {
    if (!line.startsWith("data: ")) return [];
    const { response } = eventSchema.parse(JSON.parse(line.slice("data: ".length)));
    return response === undefined ? [] : [responseSchema.parse(response)];
  });
}

describe.each(Object.entries(REQUESTS))("a request with the %s members", (_, request) => {
  test("gets a response with all members that strict clients require", () => {
    const answer = translate(request).response(Buffer.from(JSON.stringify(WHOLE)), createMeter(5, { outputTokens: 1_000 }));
    expect(responseSchema.parse(JSON.parse(String(answer)))).toMatchObject({ created_at: CREATED, completed_at: CREATED + 5 });
  });

  test.each([
    ["stop", "completed", CREATED + 5],
    ["length", "incomplete", null],
    [null, "failed", null],
  ])("gets them in each event of a stream that ends with %s", (finish, status, completedAt) => {
    const all = responsesIn(play(request, finish));
    expect(all.map((response) => response.status)).toEqual(["in_progress", "in_progress", status]);
    expect(all.map(({ completed_at: at }) => at)).toEqual([null, null, completedAt]);
  });
});

test("a response repeats what its request says, and fills in what that leaves out", () => {
  const [response] = responsesIn(play(REQUESTS.most, "stop"));
  expect(response).toMatchObject({
    temperature: 0.5,
    top_p: 1,
    reasoning: { effort: "low", summary: null },
    text: { format: { type: "text" } },
    tools: [{ type: "function", name: "look", description: null, parameters: null, strict: false }, { type: "custom" }],
    prompt_cache_key: "key",
    safety_identifier: "user-17",
  });
});

test("a tool that lacks members keeps the others as they were written", () => {
  const tool = '{"type": "function", "name": "look", "parameters": {"maximum": 9007199254740993}}';
  const input = inputFor(`{"model": "m", "input": "hi", "tools": [${tool}]}`, { upstream: "chat" });
  const answer = createTranslation("responses", input).response(
    Buffer.from(JSON.stringify(WHOLE)),
    createMeter(5, { outputTokens: 1_000 }),
  );
  expect(String(answer)).toContain(`[{"description":null,"strict":false,${tool.slice(1)}]`);
});
