import { describe, expect, test } from "vitest";
import { onlyRow } from "../../support/billing/settlement.ts";
import { useScriptedModels } from "../../support/servers/scripted-models.ts";
import type { UsageRow } from "../../support/stacks/product.ts";

/** The model server's stream. */
let stream = "";
let sent = "";
const stack = useScriptedModels((_request, response, body) => {
  sent = body;
  response.writeHead(200, { "content-type": "text/event-stream" }).end(stream);
});

interface Asked {
  model: "as-chat" | "as-messages" | "as-responses";
  path?: string;
  fields?: object;
}

interface Answered {
  status: number;
  text: string;
  requestId: string;
}

async function ask({ model, path = "/v1/chat/completions", fields = {} }: Asked): Promise<Answered> {
  const asked = path === "/v1/responses" ? { input: "hi" } : { messages: [{ role: "user", content: "hi" }], max_tokens: 1_000 };
  const response = await fetch(stack().baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack().apiKey}` },
    body: JSON.stringify({ model, stream: true, ...asked, ...fields }),
  });
  const text = await response.text();
  return { status: response.status, text, requestId: response.headers.get("x-request-id") ?? "" };
}

const rowOf = ({ requestId }: Answered): Promise<UsageRow> => onlyRow(stack(), requestId);

const data = (json: object) => `data: ${JSON.stringify(json)}\n\n`;
const chunk = (delta: object, { choice = {}, ...more }: { choice?: object; [name: string]: unknown } = {}) =>
  data({
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: null, ...choice }],
    ...more,
  });
const FINISH = chunk({}, { choice: { finish_reason: "stop" } });
const DONE = "data: [DONE]\n\n";
const event = (type: string, members: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const START = event("message_start", { message: { id: "m", type: "message", role: "assistant", model: "m", content: [] } });
const STOP = event("message_delta", { delta: { stop_reason: "end_turn" }, usage: { input_tokens: 5, output_tokens: 2 } });
const textDelta = (delta: object) =>
  event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
  event("content_block_delta", { index: 0, delta }) +
  event("content_block_stop", { index: 0 });

/** A response of one message, whose text came in these pieces. */
const responseOf = (texts: readonly string[], members: object = {}) => ({
  id: "r",
  object: "response",
  status: "completed",
  model: "m",
  output: [{ id: "msg", type: "message", role: "assistant", status: "completed", content: [outputText(texts.join(""))] }],
  ...members,
});
const outputText = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
const textPiece = (delta: string, members: object = {}) =>
  event("response.output_text.delta", { item_id: "msg", output_index: 0, content_index: 0, delta, ...members });
const COMPLETED = (texts: readonly string[], members: object = {}) =>
  event("response.completed", { response: responseOf(texts, members) });

/** 10,000 tokens by our own count, in pieces that differ. */
const PIECES = Array.from({ length: 40 }, (_, index) => `word${index} `.repeat(167).slice(0, 1_000));

/** For each protocol, its own interface, and a stream around the pieces that reports no usage. */
const PASSED = {
  "as-chat": { path: "/v1/chat/completions", wrap: (body: string) => body + FINISH + DONE },
  "as-messages": {
    path: "/v1/messages",
    wrap: (body: string) => START + body + STOP.replace(/"usage":\{.*?\}/, '"usage":{}') + event("message_stop"),
  },
  "as-responses": { path: "/v1/responses", wrap: (body: string) => body + COMPLETED([]) },
} as const satisfies Record<Asked["model"], { path: string; wrap(body: string): string }>;

describe("text where the meter does not look is counted beyond 4 KiB per answer (S38)", () => {
  const hidden: [string, Asked["model"], (text: string) => string][] = [
    ["an id", "as-chat", (id) => chunk({ content: "a" }, { id })],
    ["the model's name", "as-chat", (model) => chunk({ content: "a" }, { model })],
    ["a role", "as-chat", (role) => chunk({ role, content: "a" })],
    ["a name", "as-chat", (name) => chunk({ name, content: "a" })],
    ["a fingerprint", "as-chat", (text) => chunk({ content: "a" }, { system_fingerprint: text })],
    ["a member's name", "as-chat", (name) => chunk({ content: "a", [name]: 1 })],
    ["a signature that is none", "as-chat", (signature) => chunk({ content: "a", signature })],
    ["base64 that is none", "as-chat", (text) => chunk({ content: "a", audio: { data: "A".repeat(64) + text } })],
    [
      "a member there twice",
      "as-chat",
      (text) => `data: {"choices":[{"delta":{"content":${JSON.stringify(text)},"content":"a"}}]}\n\n`,
    ],
    [
      "tokens of log probabilities",
      "as-chat",
      (token) => chunk({ content: "a" }, { choice: { logprobs: { content: [{ token }] } } }),
    ],
    ["usage", "as-chat", (note) => chunk({ content: "a" }, { usage: { note } })],
    [
      "an event's id",
      "as-messages",
      (id) => event("content_block_delta", { id, index: 0, delta: { type: "text_delta", text: "a" } }),
    ],
    ["an item's id", "as-responses", (id) => textPiece("a", { item_id: id })],
    ["padding", "as-responses", (obfuscation) => textPiece("a", { obfuscation })],
    ["the end of a part that says something else", "as-responses", (text) => event("response.output_text.done", { text })],
    [
      "instructions that nobody gave",
      "as-responses",
      (instructions) => event("response.in_progress", { response: { instructions } }),
    ],
    [
      "encrypted content that is none",
      "as-responses",
      (text) => event("response.output_item.done", { item: { type: "reasoning", encrypted_content: text } }),
    ],
    ["a ping", "as-messages", (note) => event("ping", { note }) + textDelta({ type: "text_delta", text: "a" })],
  ];

  test.for(hidden)("%s", async ([, model, pieceOf]) => {
    const body = PIECES.map(pieceOf).join("");
    const { path, wrap } = PASSED[model];
    stream = wrap(body);
    const answered = await ask({ model, path });
    expect(answered.status).toBe(200);
    const row = await rowOf(answered);
    expect(row).toMatchObject({ outcome: "complete", isEstimated: true });
    expect(row.usage.outputTokens).toBeGreaterThan(7_500);
    expect(row.usage.outputTokens).toBeLessThan(11_500);
  });

  test("but ids, filter verdicts and log probabilities of honest servers are not", async () => {
    const verdicts = Object.fromEntries(
      ["hate", "self_harm", "sexual", "violence"].map((name) => [name, { filtered: false, severity: "safe" }]),
    );
    stream =
      Array.from({ length: 200 }, (_, index) =>
        chunk(
          { content: "four" },
          {
            id: `chatcmpl-${String(index).padStart(24, "0")}`,
            obfuscation: String(index).repeat(3),
            system_fingerprint: "fp_0123456789",
            choice: {
              content_filter_results: verdicts,
              logprobs: {
                content: [
                  {
                    token: "four",
                    logprob: -1,
                    bytes: [1, 2, 3, 4],
                    top_logprobs: Array.from({ length: 20 }, (_, other) => ({ token: `alt${index}${other}`, logprob: -2 })),
                  },
                ],
              },
            },
          },
        ),
      ).join("") +
      FINISH +
      DONE;
    const row = await rowOf(await ask({ model: "as-chat" }));
    expect(row).toMatchObject({ outcome: "complete", usage: { outputTokens: expect.closeTo(200, -1) } });
  });
});

describe("a Responses server sends its text in pieces and as a whole, several times (S38)", () => {
  const path = "/v1/responses";
  const model = "as-responses";
  const repeated = (text: string) =>
    event("response.output_text.done", { item_id: "msg", output_index: 0, content_index: 0, text, logprobs: [] }) +
    event("response.content_part.done", { item_id: "msg", output_index: 0, content_index: 0, part: outputText(text) }) +
    event("response.output_item.done", { output_index: 0, item: responseOf([text]).output[0] });

  test("it is counted once", async () => {
    stream = PIECES.map((piece) => textPiece(piece)).join("") + repeated(PIECES.join("")) + COMPLETED(PIECES);
    const row = await rowOf(await ask({ model, path }));
    expect(row).toMatchObject({ outcome: "complete", isEstimated: true, usage: { outputTokens: 10_000 } });
  });

  test("text repeated from the request is not part of the answer, however long it is", async () => {
    const instructions = "Be brief. ".repeat(2_000);
    const tools = [{ type: "function", name: "f", description: "Does it. ".repeat(1_000), parameters: { type: "object" } }];
    const normal = tools.map((tool) => ({ ...tool, strict: true, parameters: { ...tool.parameters, properties: {} } }));
    const echoed = { instructions, tools: normal };
    stream =
      event("response.created", { response: responseOf([], { ...echoed, status: "in_progress" }) }) +
      textPiece("hello") +
      COMPLETED(["hello"], echoed);
    const row = await rowOf(await ask({ model, path, fields: { instructions, tools } }));
    expect(row).toMatchObject({ outcome: "complete", isEstimated: true, usage: { outputTokens: 2 } });
  });

  test.for<[string, object, object]>([
    [
      "its report is charged where it can be true",
      { input_tokens: 90, output_tokens: 42, input_tokens_details: { cached_tokens: 64 } },
      { isEstimated: false, usage: { inputTokens: 26, cachedInputTokens: 64, outputTokens: 42 } },
    ],
    [
      "more output than the limit is not",
      { input_tokens: 90, output_tokens: 5_000_000 },
      { isEstimated: true, usage: { outputTokens: 10 } },
    ],
    [
      "parts beyond their total are not",
      { input_tokens: 5, input_tokens_details: { cached_tokens: 50 }, output_tokens: 12 },
      { isEstimated: true, usage: { outputTokens: 12 } },
    ],
    [
      "reasoning beyond the output is not",
      { input_tokens: 9, output_tokens: 12, output_tokens_details: { reasoning_tokens: 13 } },
      { isEstimated: true },
    ],
  ])("%s", async ([, usage, expected]) => {
    const text = "four".repeat(10);
    for (const [interfacePath, wrapped] of [
      [path, "passed"],
      ["/v1/chat/completions", "for chat"],
      ["/v1/messages", "for messages"],
    ] as const) {
      stream = textPiece(text) + COMPLETED([text], { usage });
      const row = await rowOf(await ask({ model, path: interfacePath }));
      expect(row, wrapped).toMatchObject({ outcome: "complete", ...expected });
    }
  });

  test.for([path, "/v1/chat/completions", "/v1/messages"])(
    "%s: a broken stream is charged for the delivered tokens (S22, S28)",
    async (interfacePath) => {
      stream = textPiece("four".repeat(10));
      const answered = await ask({ model, path: interfacePath });
      expect(answered.text).toContain("error");
      expect(await rowOf(answered)).toMatchObject({ outcome: "truncated", isEstimated: true, usage: { outputTokens: 10 } });
    },
  );
});

test("hundreds of keep-alive comments neither break a stream nor cost anything", async () => {
  const comments = ": OPENROUTER PROCESSING\n\n".repeat(300);
  const texts = Array.from({ length: 50 }, (_, index) => `text ${index} `);
  const usage = data({ id: "c", choices: [], usage: { prompt_tokens: 20, completion_tokens: 150 } });
  stream = comments + texts.map((content) => chunk({ content }) + ": OPENROUTER PROCESSING\n\n").join("") + FINISH + usage + DONE;
  const answered = await ask({ model: "as-chat" });
  const contents = [...answered.text.matchAll(/"content":"([^"]*)"/g)].map(([, text]) => text);
  expect(contents.join("")).toBe(texts.join(""));
  expect(answered.text.endsWith(DONE)).toBe(true);
  expect(await rowOf(answered)).toMatchObject({
    outcome: "complete",
    isEstimated: false,
    usage: { inputTokens: 20, outputTokens: 150 },
  });
});

describe("several answers (n)", () => {
  const of = (index: number, content: string, finish: string | null = null) =>
    chunk({ content }, { choice: { index, finish_reason: finish } });

  test("one finished answer does not make a stream complete that breaks off in the others (S22)", async () => {
    stream = of(0, "a".repeat(40)) + of(1, "b".repeat(40)) + of(2, "c".repeat(40)) + of(0, "", "stop") + of(1, "d".repeat(40));
    const answered = await ask({ model: "as-chat", fields: { n: 3 } });
    expect(answered.text).toMatch(/"error":\{[^\n]*\nevent: error\n\n$/);
    expect(answered.text).not.toContain("[DONE]");
    expect(await rowOf(answered)).toMatchObject({ outcome: "truncated", isEstimated: true, usage: { outputTokens: 40 } });
  });

  test("a stream is complete when all answers are finished, even without the server's last line", async () => {
    stream =
      [0, 1, 2].map((index) => of(index, "a".repeat(40))).join("") + [0, 1, 2].map((index) => of(index, "", "stop")).join("");
    const answered = await ask({ model: "as-chat", fields: { n: 3 } });
    expect(answered.text.endsWith(DONE)).toBe(true);
    expect(await rowOf(answered)).toMatchObject({ outcome: "complete", usage: { outputTokens: 30 } });
  });

  test("text of one answer after another's finish is passed on and charged", async () => {
    stream = of(0, "a".repeat(40), "stop") + of(1, "b".repeat(400)) + of(1, "", "stop") + DONE;
    const answered = await ask({ model: "as-chat", fields: { n: 2 } });
    expect(answered.text).toContain("b".repeat(400));
    expect(await rowOf(answered)).toMatchObject({ outcome: "complete", usage: { outputTokens: 110 } });
  });
});

describe("an answer that a translation cannot represent is an error, and free (S38)", () => {
  test.for<[string, Asked["model"], string, string]>([
    ["/v1/messages", "as-chat", chunk({ role: "assistant", answer: PIECES[0] }) + FINISH + DONE, "event: error"],
    ["/v1/responses", "as-chat", chunk({ role: "assistant", answer: PIECES[0] }) + FINISH + DONE, "response.failed"],
    [
      "/v1/chat/completions",
      "as-messages",
      START +
        textDelta({ type: "text", text: PIECES[0] }) +
        event("message_delta", { delta: { stop_reason: "end_turn" } }) +
        event("message_stop"),
      '"error":{',
    ],
    ["/v1/chat/completions", "as-responses", COMPLETED([], { output: [{ type: "answer", text: PIECES[0] }] }), '"error":{'],
    ["/v1/messages", "as-responses", COMPLETED([], { output: [{ type: "answer", text: PIECES[0] }] }), "event: error"],
  ])("%s over %s", async ([path, model, text, error]) => {
    stream = text;
    const answered = await ask({ model, path });
    expect(answered.text).toContain(error);
    expect(await rowOf(answered)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });
});

test.for<[string, string]>([
  ["/v1/messages", "event: error\n"],
  ["/v1/chat/completions", '"error":{'],
  ["/v1/responses", "event: response.failed\n"],
])(
  "%s: a message without message_stop is incomplete, and its delivered tokens are charged (S22, S28)",
  async ([path, ending]) => {
    stream = START + textDelta({ type: "text_delta", text: "hello" }) + STOP;
    const answered = await ask({ model: "as-messages", path });
    expect(answered.text).toContain("hello");
    expect(answered.text).toContain(ending);
    expect(await rowOf(answered)).toMatchObject({
      outcome: "truncated",
      isEstimated: false,
      usage: { inputTokens: 5, outputTokens: 2 },
    });
  },
);

describe("limits and counts below the top level (S30)", () => {
  test.for<[object, string]>([
    [{ extra_body: { max_tokens: 8_000 } }, "extra_body.max_tokens"],
    [{ a: { b: { c: { d: { e: { f: { num_predict: 9 } } } } } } }, "a.b.c.d.e.f.num_predict"],
    [{ plugins: [{ id: "x", options: { n: 9 } }] }, "plugins.0.options.n"],
    [{ max_gen_toks: 9_000 }, "max_gen_toks"],
    [{ extra_body: { model: "a-dearer-one" } }, "extra_body.model"],
    [{ extra_body: { service_tier: "priority" } }, "extra_body.service_tier"],
  ])("%j is refused, and the error names the field", async ([fields, field]) => {
    const answered = await ask({ model: "as-chat", fields });
    expect(answered.status).toBe(400);
    expect(answered.text).toContain(`\`${field}\``);
  });

  test.for<[Asked["model"], string, object, string]>([
    ["as-chat", "/v1/chat/completions", { web_search_options: {} }, "web_search_options"],
    ["as-chat", "/v1/chat/completions", { plugins: [{ id: "web", max_results: 3 }] }, "plugins"],
    ["as-chat", "/v1/chat/completions", { tools: [{ type: "code_interpreter" }] }, "tools[0].type"],
    ["as-messages", "/v1/messages", { tools: [{ type: "web_search_20250305", name: "web_search" }] }, "tools[0].type"],
  ])("%s, %s: features that a provider bills in addition to tokens are refused, %j", async ([model, path, fields, field]) => {
    const answered = await ask({ model, path, fields });
    expect(answered.status).toBe(400);
    expect(answered.text).toContain(`\`${field}\``);
  });

  test("limits on something else pass unchanged", async () => {
    stream = chunk({ content: "hello" }) + FINISH + DONE;
    const parameters = {
      type: "object",
      properties: { n: { type: "integer" }, max_tokens: { type: "integer" }, limit: { maxLength: 3 } },
    };
    const fields = {
      metadata: { n: "3", limit: "4", max_tokens: "5" },
      litellm_metadata: { n: 3, labels: { limit: 4 } },
      tools: [{ type: "function", function: { name: "n", parameters } }],
      logit_bias: { "50256": -100 },
      provider: { order: ["a"], max_price: { prompt: 1, completion: 2 }, allow_fallbacks: false },
      transforms: ["middle-out"],
      reasoning: { max_tokens: 2_000 },
      guided_json: parameters,
      thinking_budget: 400,
      models: null,
    };
    // The gateway's own, which OpenAI's servers refuse.
    const answered = await ask({ model: "as-chat", fields: { ...fields, usage: { include: true } } });
    expect(answered.status).toBe(200);
    expect(JSON.parse(sent)).toMatchObject(fields);
    expect(JSON.parse(sent)).not.toHaveProperty("usage");
  });
});
