import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeError } from "../../../../contract/errors.ts";
import type { Interface, Protocol } from "../../../../contract/protocol.ts";
import { retryHeaders } from "../../../../extproc/protocol/retry-after.ts";
import { readUpstreamError, readUpstreamErrorPayload } from "../../../../extproc/protocol/upstream-error.ts";

const NO_HEADERS = new Map<string, string>();

function read(status: number, body: unknown, headers: ReadonlyMap<string, string> = NO_HEADERS) {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return readUpstreamError({ status, headers, body: bytes, retry: retryHeaders(headers, 0), upstream: "chat" });
}

describe("an upstream's refusal of the request keeps its status and text (S22)", () => {
  const dialects = [
    ["OpenAI", { error: { message: "Unknown tool.", type: "invalid_request_error", param: "tools[0]", code: null } }],
    ["vLLM", { error: { message: "Unknown tool.", type: "BadRequestError", param: "tools[0]", code: 400 } }],
    ["old vLLM and SGLang", { object: "error", message: "Unknown tool.", type: "BadRequestError", param: "tools[0]", code: 400 }],
    ["Anthropic", { type: "error", error: { type: "invalid_request_error", message: "Unknown tool.", param: "tools[0]" } }],
    ["OpenRouter", { error: { code: 400, message: "Unknown tool.", metadata: { provider_name: "X" }, param: "tools[0]" } }],
    ["Gemini", [{ error: { code: 400, message: "Unknown tool.", status: "INVALID_ARGUMENT", param: "tools[0]" } }]],
  ] as const;
  test.for(dialects)("%s", ([, body]) => {
    const error = read(400, body);
    expect(error).toMatchObject({ code: "invalid_request", status: 400, message: "Unknown tool.", field: "tools[0]" });
  });

  test("FastAPI's list names the field", () => {
    const error = read(422, { detail: [{ loc: ["body", "messages", 0, "role"], msg: "Field required", type: "missing" }] });
    expect(error).toMatchObject({ status: 422, message: "messages[0].role: Field required", field: "messages[0].role" });
  });

  test("so does Mistral's, which has it as the message", () => {
    const detail = [
      { type: "extra_forbidden", loc: ["body", "stream_options"], msg: "Extra inputs are not permitted", input: true },
    ];
    const error = read(422, { object: "error", message: { detail }, type: "invalid_request_error", param: null, code: null });
    expect(error).toMatchObject({
      status: 422,
      message: "stream_options: Extra inputs are not permitted",
      field: "stream_options",
    });
  });

  test("FastAPI's sentence, Ollama's string and a flat message are read", () => {
    expect(read(400, { detail: "Bad thing." }).message).toBe("Bad thing.");
    expect(read(400, { error: "Bad thing." }).message).toBe("Bad thing.");
    expect(read(400, { message: "Bad thing." }).message).toBe("Bad thing.");
  });

  test("messages has no 422", () => {
    const failure = { status: 422, headers: NO_HEADERS, body: Buffer.from('{"detail":"Bad."}'), upstream: "chat" as const };
    expect(readUpstreamError({ ...failure, client: "messages" }).status).toBe(400);
    expect(readUpstreamError({ ...failure, client: "chat" }).status).toBe(422);
  });

  test("a body without a reason gets one of our sentences", () => {
    for (const body of ["", "<html><h1>400 Bad Request</h1></html>", "upstream connect error", "[]", "7"]) {
      expect(read(400, body).message).toBe("The model server refused the request and gave no reason.");
    }
  });
});

describe("a server's own error type and code", () => {
  const encoded = (upstream: Protocol, client: Interface, error: object, status = 400) => {
    const failure = { status, headers: NO_HEADERS, body: Buffer.from(JSON.stringify({ error })), upstream, client };
    return encodeError(client, readUpstreamError(failure), "req_1");
  };
  const refusal = { message: "No.", type: "image_generation_user_error", code: "content_policy_violation" };

  test.for([
    ["chat", "chat"],
    ["responses", "responses"],
    ["chat", "responses"],
    ["responses", "chat"],
  ] as const)("%s server, %s client: type and code are the server's", ([upstream, client]) => {
    expect(encoded(upstream, client, refusal)).toMatchObject({ error: refusal });
  });

  test("a protocol that does not know them uses its own", () => {
    expect(encoded("chat", "messages", refusal)).toMatchObject({ error: { type: "invalid_request_error", message: "No." } });
    const messages = { type: "some_error", message: "No.", details: { error_code: "x" } };
    expect(encoded("messages", "chat", messages)).toEqual({
      error: { type: "invalid_request_error", message: "No.", param: null, code: null },
    });
  });

  test.for(["invalid_api_key", "insufficient_balance", "model_not_found", "BadRequestError", "400", "a b", "x".repeat(65)])(
    "%s is not passed on: clients would misread it as their own problem, or it is not a valid name",
    (name) => {
      expect(encoded("chat", "chat", { message: "No.", type: name, code: name })).toMatchObject({
        error: { type: "invalid_request_error", code: null },
      });
    },
  );

  test("a text about the request names no file of the server, and nothing of its account", () => {
    const message =
      "Template error in '/usr/lib/python3/site-packages/vllm/chat.py' for arn:aws:bedrock:us-east-1:123456789012:model/x of " +
      "projects/acme-prod/locations/us-central1 see /v1/chat/completions and messages/0/content.";
    expect(encoded("chat", "chat", { message, type: "invalid_request_error" })).toMatchObject({
      error: { message: "Template error in '[path]' for [path] of [path] see /v1/chat/completions and messages/0/content." },
    });
  });

  test("error.details pass from messages to messages, bounded and without addresses and keys", () => {
    const details = {
      error_code: "tool_name_conflict",
      unsupported: ["thinking", 7, "https://internal.example.com/x"],
      note: `sk-abcdefgh1234 ${"long ".repeat(1_000)}`,
      count: 3,
      deep: { er: { still: true } },
      "no name": "x",
      ...Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`more_${index}`, index])),
    };
    const error = { type: "invalid_request_error", message: "No.", details };
    const client: unknown = encoded("messages", "messages", error);
    expect(client).toMatchObject({
      error: { details: { error_code: "tool_name_conflict", unsupported: ["thinking", "[address]"], count: 3 } },
    });
    const text = JSON.stringify(client);
    expect(text).not.toMatch(/sk-abc|internal|deep|no name|more_90/);
    expect(text.length).toBeLessThan(1_000);
    expect(JSON.stringify(encoded("messages", "messages", error, 500))).not.toContain("details");
  });
});

describe("the gateway's own problems are not passed on (S22)", () => {
  test.for([401, 402, 403, 404, 405, 302, 418])("%i is a 502", (status) => {
    const error = read(status, {
      error: { message: "Incorrect API key provided: sk-abcdef123456", type: "invalid_request_error", code: "invalid_api_key" },
    });
    expect(error).toMatchObject({ code: "upstream_error", status: 502 });
    expect(error.message).not.toMatch(/sk-|incorrect/i);
  });

  test.for<[string, object]>([
    [
      "xAI",
      {
        code: "The caller does not have permission to execute the specified operation",
        error: "Content violates usage guidelines. Team: 1f3a, API key ID: 9c2e, Model: m, Failed check: SAFETY_CHECK_TYPE_BIO",
      },
    ],
    [
      "OpenRouter",
      {
        error: {
          code: 403,
          message: 'm requires moderation on SomeProvider. Your input was flagged for "violence". No credits were charged.',
          metadata: { reasons: ["violence"], flagged_input: "How do I", provider_name: "SomeProvider" },
        },
      },
    ],
  ])("but a 403 by which %s refuses the content is the caller's", ([, body]) => {
    const error = read(403, body);
    expect(error).toMatchObject({ code: "content_refused", status: 400, details: { code: "content_policy_violation" } });
    expect(error.message).not.toMatch(/Team|API key|SomeProvider|flagged/);
    expect(readUpstreamErrorPayload(body)).toMatchObject({ code: "content_refused" });
  });

  test.for([
    "File not found: file_011CNha8iCJcU1wXNR6q4V8w",
    "Item with id 'rs_68c2a2f7b2a08195a3c5d4' not found. Items are not persisted when `store` is set to false.",
    "Container with id 'cntr_68c2a2f7b2a0' not found.",
  ])("a 404 about what the request refers to is the caller's: %s", (message) => {
    const error = read(404, { type: "error", error: { type: "not_found_error", message } });
    expect(error).toMatchObject({ code: "not_found", status: 404, message, headers: { "x-should-retry": "false" } });
  });

  test.for(["File not found.", "model: file_converter_9000 not found", "The model `m` does not exist.", "Not Found"])(
    "a 404 about the path or the model is a 502: %s",
    (message) => {
      const error = read(404, { type: "error", error: { type: "not_found_error", message } });
      expect(error).toMatchObject({ code: "upstream_error", status: 502 });
    },
  );

  test("an empty upstream account is a 502, whatever its status", () => {
    expect(
      read(429, {
        error: { message: "You exceeded your current quota", type: "insufficient_quota", code: "insufficient_quota" },
      }),
    ).toMatchObject({ status: 502 });
    expect(
      read(400, { type: "error", error: { type: "invalid_request_error", message: "Your credit balance is too low" } }),
    ).toMatchObject({ status: 502 });
  });
});

test("a conflict keeps retry-after, and a bad request does not", () => {
  const answer = (status: number) => read(status, { error: { message: "No." } }, new Map([["retry-after", "7"]]));
  expect(answer(409).headers).toEqual({ "retry-after": "7" });
  expect(answer(400).headers).toEqual({ "x-should-retry": "false" });
});

describe("429 and 5xx keep their class and retry-after (S22)", () => {
  const cases = [
    [408, "upstream_timeout", 504],
    [429, "rate_limited", 429],
    [500, "upstream_error", 500],
    [502, "upstream_error", 502],
    [503, "overloaded", 503],
    [504, "upstream_timeout", 504],
    [520, "upstream_error", 502],
    [524, "upstream_timeout", 504],
    [529, "overloaded", 503],
  ] as const;
  test.for(cases)("%i becomes %s", ([status, code, expected]) => {
    const error = read(
      status,
      "<html>nginx on host-17</html>",
      new Map([
        ["retry-after", "17"],
        ["retry-after-ms", "16500.5"],
      ]),
    );
    expect(error).toMatchObject({ code, status: expected, headers: { "retry-after": "17", "retry-after-ms": "16501" } });
    expect(error.message).not.toMatch(/nginx|host-17/);
  });

  test("a messages client gets an overload as 529", () => {
    const body = Buffer.from("");
    expect(readUpstreamError({ status: 503, headers: NO_HEADERS, body, upstream: "chat", client: "messages" }).status).toBe(529);
  });

  test("an invalid retry-after is dropped", () => {
    expect(read(429, "", new Map([["retry-after", "soon\r\nx-evil: 1"]])).headers).toEqual({});
  });

  test("a rate limit never mentions money: some clients would stop permanently", () => {
    const body = { error: { message: "Rate limit reached. Please add credits: billing", type: "rate_limit_error" } };
    expect(read(429, body).message).not.toMatch(/billing|credit|quota/i);
  });
});

describe("a prompt that is too long is worded for both dialects", () => {
  const texts = [
    [
      "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).",
      5000,
      4096,
    ],
    ["This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.", 5000, 4096],
    [
      "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens.",
      5000,
      4096,
    ],
    ["The input (5000 tokens) is longer than the model's context length (4096 tokens).", 5000, 4096],
    ["prompt is too long: 210,000 tokens > 200,000 maximum", 210000, 200000],
    ["The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1200000, 1048576],
  ] as const;
  test.for(texts)("%s", ([message, requested, limit]) => {
    const error = read(400, { error: { message, type: "BadRequestError", code: 400 } });
    expect(error).toMatchObject({ code: "context_too_long", status: 400 });
    expect(error.message).toContain(`prompt is too long: ${requested} tokens > ${limit} maximum`);
    expect(error.message).toContain(`maximum context length is ${limit} tokens`);
  });

  test("llama.cpp's numbers are read next to its text", () => {
    const body = {
      error: {
        code: 400,
        message: "the request exceeds the available context size",
        type: "exceed_context_size_error",
        n_prompt_tokens: 9000,
        n_ctx: 8192,
      },
    };
    expect(read(400, body).message).toContain("prompt is too long: 9000 tokens > 8192 maximum");
  });

  test("without numbers it is still recognised", () => {
    const error = read(400, { error: { message: "Too big.", code: "context_length_exceeded" } });
    expect(error).toMatchObject({ code: "context_too_long" });
    expect(error.message).toMatch(/^prompt is too long/);
    expect(encodeError("chat", error, "id")).toMatchObject({ error: { code: "context_length_exceeded" } });
  });
});

describe("nothing internal leaks (S17)", () => {
  test("hosts, keys and type names are removed", () => {
    const message =
      "litellm.BadRequestError: OpenAIException - tools[0] is bad. See https://platform.openai.com/docs or http://10.1.2.3:8000/x, key sk-proj-abcdef123456, Bearer abc.def, vllm-7.models.svc:8000, org-AbCdEf12345";
    const text = read(400, { error: { message } }).message;
    expect(text).toContain("tools[0] is bad.");
    expect(text).not.toMatch(/openai|litellm|10\.1\.2\.3|sk-proj|abc\.def|svc|org-A|Error/i);
  });

  test("the upstream's own name of the model is not shown", () => {
    const body = Buffer.from(
      JSON.stringify({ error: { message: "vendor/model-7b reads no images; use vendor/model-7b-vision" } }),
    );
    const model = { upstream: "vendor/model-7b", client: "$&-pro" };
    const error = readUpstreamError({ status: 400, headers: NO_HEADERS, body, upstream: "chat", model });
    expect(error.message).toBe("$&-pro reads no images; use $&-pro-vision");
  });

  test("the text is bounded and one line", () => {
    const text = read(400, { error: { message: `a\r\n\u0000b ${"x".repeat(100_000)}` } }).message;
    expect(text.length).toBeLessThanOrEqual(1_000);
    expect(text).toMatch(/^a b x+$/);
  });

  test("no body crashes it, and every answer is one that a caller can act on", () => {
    fc.assert(
      fc.property(fc.integer({ min: 300, max: 599 }), fc.oneof(fc.string(), fc.json()), (status, body) => {
        const error = read(status, body);
        expect(error.code).not.toBe("internal_error");
        expect(error.status).toBeGreaterThanOrEqual(400);
        expect(error.message.length).toBeGreaterThan(0);
      }),
    );
  });
});

describe("an error inside a body that began with 200", () => {
  const cases = [
    [{ error: { message: "x", code: 429 } }, "rate_limited"],
    [{ error: { message: "x", type: "overloaded_error" } }, "overloaded"],
    [{ error: { message: "x", type: "InternalServerError", code: 500 } }, "upstream_error"],
    [{ error: { message: "x", type: "invalid_request_error", code: null } }, "invalid_request"],
    [{ type: "error", error: { type: "authentication_error", message: "x" } }, "upstream_error"],
    [{ type: "error", error: { type: "timeout_error", message: "x" } }, "upstream_timeout"],
    [{ error: "something broke" }, "upstream_error"],
    [{ error: true }, "upstream_error"],
    [{ error: { message: "x", type: "tokens", code: "rate_limit_exceeded" } }, "rate_limited"],
    [{ error: { message: "x", type: "error", code: "invalid_image_format" } }, "invalid_request"],
    [{ error: { message: "x", type: "data_inspection_failed", code: "data_inspection_failed" } }, "invalid_request"],
    [{ error: { message: "x", type: null, code: "content_filter" } }, "invalid_request"],
  ] as const;
  test.for(cases)("%j is %s", ([payload, code]) => {
    expect(readUpstreamErrorPayload(payload).code).toBe(code);
  });
});
