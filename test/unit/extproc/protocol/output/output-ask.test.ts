import { describe, expect, test } from "vitest";
import type { Protocol } from "../../../../../contract/protocol.ts";
import { parseBody } from "../../../../../extproc/protocol/json/parse-body.ts";
import { readOutputAsk, type OutputAsk } from "../../../../../extproc/protocol/output/output-ask.ts";

function ask(body: object | string, client: Protocol = "chat"): OutputAsk {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return readOutputAsk(parseBody(Buffer.from(text), { headers: new Map(), interface: client }), client);
}

const PLAIN = { model: "m", messages: [{ role: "user", content: "hi" }] };
const refusal = (field: string) => expect.objectContaining({ code: "invalid_request", status: 400, field });

describe("the limit that a client requests", () => {
  test.for([
    [{}, null],
    [{ max_tokens: 8_000 }, 8_000],
    [{ max_completion_tokens: 1, max_tokens: 8_000 }, 1],
    [{ max_completion_tokens: 8_000, max_tokens: 1 }, 1],
    [{ max_completion_tokens: null, max_tokens: 5 }, 5],
    [{ n_predict: 7 }, 7],
    [{ max_output_tokens: 3, max_new_tokens: 4 }, 3],
  ] as const)("of %j is %s: the lowest of all, under any name (S30)", ([fields, limit]) => {
    expect(ask({ ...PLAIN, ...fields }).limit).toBe(limit);
  });

  test("of messages does not depend on the type of an edit of its context that is no text", () => {
    const context_management = { edits: [{ type: { toString: 1 } }, { type: "compact_20260112" }] };
    expect(ask({ ...PLAIN, max_tokens: 1, context_management }, "messages")).toMatchObject({ limit: 1, isCompacting: true });
  });

  test("of messages is required, and may be 0", () => {
    expect(ask({ ...PLAIN, max_tokens: 0 }, "messages").limit).toBe(0);
    expect(() => ask(PLAIN, "messages")).toThrow("`max_tokens` is missing. Send a positive integer.");
  });

  test.for(["max_tokens", "max_completion_tokens", "n_predict", "max_new_tokens"])("%s must be a positive integer", (field) => {
    for (const value of [0, -1, 1.5, "5", true, [5], 1e300])
      expect(() => ask({ ...PLAIN, [field]: value })).toThrow(refusal(field));
  });
});

describe("the number of answers", () => {
  test.for([
    [{}, 1],
    [{ n: null }, 1],
    [{ n: 4 }, 4],
    [{ best_of: 8 }, 8],
    [{ n: 2, best_of: 8 }, 8],
    [{ n: 128 }, 128],
  ] as const)("of %j is %i", ([fields, answers]) => {
    expect(ask({ ...PLAIN, ...fields }).answers).toBe(answers);
  });

  test.for(["n", "best_of"])("%s is a whole number from 1 to 128", (field) => {
    for (const value of [0, -1, 1.5, 129, 1e9, "4", [4], true])
      expect(() => ask({ ...PLAIN, [field]: value })).toThrow(refusal(field));
  });
});

describe("other spellings of price-relevant fields are refused, and the error names the proper one (S21, S30)", () => {
  test.for([
    ["Max_Tokens", "max_tokens"],
    ["MAX_COMPLETION_TOKENS", "max_completion_tokens"],
    ["maxTokens", "max_tokens"],
    ["max-tokens", "max_tokens"],
    // Go's encoding/json takes the Kelvin sign for a k, and the long s for an s.
    ["max_to\u212Aens", "max_tokens"],
    ["max_token\u017F", "max_tokens"],
    ["maxOutputTokens", "max_output_tokens"],
    ["N", "n"],
    ["Best_Of", "best_of"],
    ["Model", "model"],
    ["Stream", "stream"],
    ["Messages", "messages"],
    ["Stream_Options", "stream_options"],
  ] as const)("%s", ([name, proper]) => {
    for (const client of ["chat", "messages", "responses"] as const)
      expect(() => ask({ ...PLAIN, max_tokens: 5, [name]: 5 }, client)).toThrow(
        expect.objectContaining({ field: name, message: expect.stringContaining(`Send \`${proper}\`.`) }),
      );
  });

  test("an escaped name is the same name", () => {
    expect(ask(String.raw`{"model":"m","messages":[],"max\u005ftokens":5}`).limit).toBe(5);
    expect(() => ask(String.raw`{"model":"m","messages":[],"max_tokens":5,"\u004dax_tokens":9}`)).toThrow(refusal("Max_tokens"));
  });

  test.for(["max_tokens", "n", "messages"])("%s twice", (name) => {
    expect(() => ask(`{"model":"m","messages":[],"stream":true,"n":1,"max_tokens":1,"${name}":2}`)).toThrow(refusal(name));
    expect(() => ask(`{"${name}":2,"model":"m","messages":[],"stream":true,"n":1,"max_tokens":1}`)).toThrow(refusal(name));
  });

  test.for(["models", "fallbacks", "Fallback_Models"])(
    "%s, which makes a router answer with another model, at its price",
    (name) => {
      expect(() => ask({ ...PLAIN, [name]: ["a-dear-one"] })).toThrow(refusal(name));
    },
  );

  test.for(["candidate_count", "num_return_sequences"])("%s, which is not a field of any interface here", (name) => {
    expect(() => ask({ ...PLAIN, [name]: 10 })).toThrow(refusal(name));
  });
});

describe("a limit or a count under an unknown name is refused, and the error names the interface's own (S21, S30)", () => {
  test.for([
    "max_gen_toks",
    "maxTokenCount",
    "maximum_tokens",
    "max_new_token",
    "token_limit",
    "auto_max_new_tokens",
    "tokens_to_generate",
    "max_decode_steps",
    "num_tokens",
    "n_tokens",
    "max_output_length",
    "response_length",
    "Max-Response-Tokens",
    "max_out",
  ])("%s", (name) => {
    for (const [client, own] of [
      ["chat", "max_tokens"],
      ["messages", "max_tokens"],
      ["responses", "max_output_tokens"],
    ] as const)
      expect(() => ask({ ...PLAIN, max_tokens: 5, [name]: 8_000 }, client)).toThrow(
        expect.objectContaining({ field: name, message: expect.stringContaining(`Send \`${own}\`.`) }),
      );
  });

  test.for(["n_cmpl", "num_outputs", "numChoices", "number_of_samples", "sampleCount"])("%s", (name) => {
    expect(() => ask({ ...PLAIN, [name]: 8 })).toThrow(
      expect.objectContaining({ field: name, message: expect.stringContaining("Send `n`.") }),
    );
    expect(() => ask({ ...PLAIN, max_tokens: 5, [name]: 8 }, "messages")).toThrow(
      expect.objectContaining({ field: name, message: expect.stringContaining("Leave it out.") }),
    );
  });

  test("but limits on something else, and other servers' fields, pass", () => {
    const request = {
      ...PLAIN,
      max_prompt_tokens: 5,
      max_thinking_tokens: 5,
      thinking_token_budget: 5,
      truncate_prompt_tokens: 5,
      prompt_truncate_len: 5,
      min_tokens: 1,
      stop_token_ids: [1],
      skip_special_tokens: true,
      return_tokens_as_token_ids: true,
      top_logprobs: 2,
      n_probs: 5,
      n_keep: 5,
      num_ctx: 4_096,
      no_repeat_ngram_size: 3,
      dry_allowed_length: 2,
      length_penalty: 1,
      add_generation_prompt: true,
      max_tool_calls: 3,
      max_price: { prompt: 1, completion: 2 },
      t_max_predict_ms: 100,
      timings_per_token: true,
      context_length_exceeded_behavior: "error",
      parallel_tool_calls: true,
      presence_penalty: 0,
      top_k: 5,
    };
    expect(ask(request).limit).toBe(null);
  });
});

describe("a limit or a count inside another object is refused", () => {
  test.for([
    [{ extra_body: { max_tokens: 8_000 } }, "extra_body.max_tokens"],
    [{ options: { num_predict: 8_000 } }, "options.num_predict"],
    [{ parameters: { Max_New_Tokens: 8_000 } }, "parameters.Max_New_Tokens"],
    [{ generationConfig: { maxOutputTokens: 8_000 } }, "generationConfig.maxOutputTokens"],
    [{ whatever: { n: 8 } }, "whatever.n"],
    [{ extra_body: { options: { num_predict: 8_000 } } }, "extra_body.options.num_predict"],
    [
      { extra_body: { google: { generation_config: { max_output_tokens: 9 } } } },
      "extra_body.google.generation_config.max_output_tokens",
    ],
    [{ provider: { vendor: { settings: { maxTokenCount: 9 } } } }, "provider.vendor.settings.maxTokenCount"],
    [{ plugins: [{ id: "web" }, { id: "x", options: { n: 9 } }] }, "plugins.1.options.n"],
    [{ inferenceConfig: { maxTokens: "9000" } }, "inferenceConfig.maxTokens"],
    [{ extra_body: { auto_max_new_tokens: true } }, "extra_body.auto_max_new_tokens"],
    [{ stream_options: { Include_Usage: false } }, "stream_options.Include_Usage"],
  ] as const)("%j", ([fields, field]) => {
    expect(() => ask({ ...PLAIN, ...fields })).toThrow(refusal(field));
  });

  // LiteLLM and others write these members over the request's own.
  test.for([
    [{ extra_body: { model: "another" } }, "extra_body.model"],
    [{ parameters: { model: "another" } }, "parameters.model"],
    [{ extra_body: { Models: ["another"] } }, "extra_body.Models"],
    [{ extra_body: { service_tier: "priority" } }, "extra_body.service_tier"],
    [{ extra_body: { messages: [] } }, "extra_body.messages"],
    [{ extra_body: { tools: [{ type: "web_search" }] } }, "extra_body.tools"],
    [{ extra_body: { web_search_options: {} } }, "extra_body.web_search_options"],
    [{ extra_body: { extra_body: { stream: true } } }, "extra_body.extra_body.stream"],
    [{ litellm_params: { model: "another" } }, "litellm_params.model"],
  ] as const)("%j would replace a priced field", ([fields, field]) => {
    expect(() => ask({ ...PLAIN, ...fields })).toThrow(refusal(field));
  });

  test("other members of such objects pass", () => {
    const fields = { extra_body: { chat_template_kwargs: { enable_thinking: false }, top_k: 5, guided_json: {} } };
    expect(ask({ ...PLAIN, ...fields })).toMatchObject({ answers: 1 });
  });

  test("but not in content, schemas, metadata or budgets of thinking", () => {
    const schema = { type: "object", properties: { max_tokens: { type: "integer" }, n: { type: "integer" } } };
    const request = {
      ...PLAIN,
      metadata: { n: "5", max_tokens: "7" },
      litellm_metadata: { n: 5, max_length: 7 },
      labels: { n: "5" },
      models: null,
      candidate_count: null,
      response_format: { type: "json_schema", json_schema: { name: "s", schema } },
      tools: [{ type: "function", function: { name: "f", parameters: schema } }],
      reasoning: { max_tokens: 2_000 },
      thinking: { type: "enabled", budget_tokens: 2_000 },
      guided_json: { ...schema, maxLength: 5 },
      nvext: { guided_json: { type: "string", maxLength: 5 }, max_thinking_tokens: 5 },
      structured_outputs: { json: { type: "string", maxLength: 5 } },
      functions: [{ name: "f", parameters: { type: "string", maxLength: 5 } }],
      prompt: { id: "p", variables: { max_length: "5", n: "3" } },
      context_management: { edits: [{ type: "clear_tool_uses_20250919", trigger: { type: "input_tokens", value: 5 } }] },
      plugins: [{ id: "web", max_results: 5 }],
      web_search_options: { search_context_size: "low", num_results: 3 },
      stream_options: { include_usage: true },
      top_k: 5,
    };
    expect(ask(request)).toEqual({ limit: null, answers: 1, isCompacting: false, wantsStream: false });
  });
});

test("a name of any length and number costs no more than reading it", () => {
  const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`x${index}`, index]));
  expect(ask({ ...PLAIN, ...many, ["M".repeat(1_000_000)]: 1 }).limit).toBe(null);
});
