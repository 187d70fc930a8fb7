import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chatUsage } from "../../../../extproc/protocol/chat/usage.ts";

const count = fc.nat({ max: 1_000_000 });

describe("chat usage", () => {
  test("counts cached and cache-write tokens separately from the input", () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 7,
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 15 },
    };
    expect(chatUsage({ usage })).toEqual({
      inputTokens: 25,
      cachedInputTokens: 60,
      cacheWriteTokens: 15,
      outputTokens: 7,
      reasoningTokens: 0,
    });
  });

  test("reads DeepSeek's cache hits", () => {
    const usage = { prompt_tokens: 100, prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36, completion_tokens: 1 };
    expect(chatUsage({ usage })).toMatchObject({ inputTokens: 36, cachedInputTokens: 64 });
  });

  test("reads Moonshot's cache hits", () => {
    const usage = { prompt_tokens: 100, completion_tokens: 1, total_tokens: 101, cached_tokens: 64 };
    expect(chatUsage({ usage })).toMatchObject({ inputTokens: 36, cachedInputTokens: 64 });
    expect(chatUsage({ usage: { ...usage, prompt_tokens_details: { cached_tokens: 60 } } })).toMatchObject({ inputTokens: 40 });
  });

  test("reads Qwen's cache writes", () => {
    const details = { cached_tokens: 20, cache_creation_input_tokens: 64, cache_type: "ephemeral" };
    const usage = { prompt_tokens: 100, completion_tokens: 1, prompt_tokens_details: details };
    expect(chatUsage({ usage })).toMatchObject({ inputTokens: 16, cachedInputTokens: 20, cacheWriteTokens: 64 });
  });

  test("reads LiteLLM's cache writes", () => {
    const details = {
      cached_tokens: 20,
      cache_creation_tokens: 64,
      cache_creation_token_details: { ephemeral_5m_input_tokens: 64 },
    };
    const usage = { prompt_tokens: 100, completion_tokens: 1, prompt_tokens_details: details, cache_creation_input_tokens: 64 };
    expect(chatUsage({ usage })).toMatchObject({ inputTokens: 16, cachedInputTokens: 20, cacheWriteTokens: 64 });
  });

  test("reads usage from x_groq and from inside the choice", () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2 };
    expect(chatUsage({ choices: [], x_groq: { usage } })).toMatchObject({ inputTokens: 3, outputTokens: 2 });
    expect(chatUsage({ choices: [{ index: 0, usage }], usage: null })).toMatchObject({ inputTokens: 3, outputTokens: 2 });
  });

  test.for([{}, { prompt_tokens: 0, completion_tokens: 0 }, { prompt_tokens: -1, completion_tokens: "2" }])(
    "is not hidden by a report of %j in another place",
    (empty) => {
      const usage = { prompt_tokens: 3, completion_tokens: 2 };
      const reported = { inputTokens: 3, outputTokens: 2 };
      expect(chatUsage({ usage: empty, x_groq: { usage } })).toMatchObject(reported);
      expect(chatUsage({ usage: empty, choices: [{ index: 0 }, { index: 1, usage }] })).toMatchObject(reported);
      expect(
        chatUsage({
          usage: empty,
          choices: [
            { index: 0, usage: empty },
            { index: 1, usage },
          ],
        }),
      ).toMatchObject(reported);
    },
  );

  test("takes each total from the place that has it", () => {
    const usage = { prompt_tokens: 3 };
    expect(chatUsage({ usage, x_groq: { usage: { completion_tokens: 2 } } })).toMatchObject({ inputTokens: 3, outputTokens: 2 });
  });

  test.for([-1, 0.5, "12", {}])("distinguishes a part of %j from a missing one", (tokens) => {
    const usage = {
      prompt_tokens: 10,
      prompt_tokens_details: { cached_tokens: tokens },
      completion_tokens: 4,
      completion_tokens_details: { reasoning_tokens: tokens },
    };
    expect(chatUsage({ usage })).toMatchObject({ cachedInputTokens: Number.NaN, reasoningTokens: Number.NaN });
  });

  test("adds reasoning if the total shows that completion_tokens excludes it", () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 4,
      total_tokens: 20,
      completion_tokens_details: { reasoning_tokens: 6 },
    };
    expect(chatUsage({ usage })).toMatchObject({ outputTokens: 10, reasoningTokens: 6 });
  });

  test("adds reasoning if the profile says that it is excluded", () => {
    const usage = { prompt_tokens: 10, completion_tokens: 4, completion_tokens_details: { reasoning_tokens: 6 } };
    expect(chatUsage({ usage }, { reasoningExcluded: true })).toMatchObject({ outputTokens: 10 });
    expect(chatUsage({ usage })).toMatchObject({ outputTokens: 4, reasoningTokens: 6 });
  });

  test("takes the rest of the total for reasoning if the profile says that it is excluded, and it is not reported", () => {
    const usage = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 20 };
    const read = (changed: object) => chatUsage({ usage: { ...usage, ...changed } }, { reasoningExcluded: true });
    expect(read({})).toMatchObject({ inputTokens: 10, outputTokens: 10, reasoningTokens: 6 });
    expect(chatUsage({ usage })).toMatchObject({ outputTokens: 4, reasoningTokens: 0 });
    expect(read({ completion_tokens_details: { reasoning_tokens: 5 } })).toMatchObject({ outputTokens: 9, reasoningTokens: 5 });
    for (const total of [14, 3, null, "20", -1, 0.5])
      expect(read({ total_tokens: total })).toMatchObject({ outputTokens: 4, reasoningTokens: 0 });
    expect(read({ prompt_tokens: null })).toMatchObject({ outputTokens: 4, reasoningTokens: 0 });
  });

  test("is undefined if there is no number", () => {
    for (const json of [null, 7, "x", [], {}, { usage: null }, { usage: {} }, { usage: { prompt_tokens: null } }]) {
      expect(chatUsage(json)).toBeUndefined();
    }
  });

  test.for([-1, 0.5, 2 ** 53, 1e300, "12", "NaN", true, {}])("distinguishes a total of %j from a missing one", (tokens) => {
    expect(chatUsage({ usage: { prompt_tokens: tokens } })).toMatchObject({ inputTokens: Number.NaN });
    expect(chatUsage({ usage: { completion_tokens: tokens } })).toMatchObject({ outputTokens: Number.NaN });
  });

  test("contains only what the upstream counted", () => {
    expect(chatUsage({ usage: { completion_tokens: 3, prompt_tokens: null } })).toEqual({ outputTokens: 3, reasoningTokens: 0 });
  });

  test("the input classes always add up to prompt_tokens", () => {
    fc.assert(
      fc.property(count, count, count, count, (prompt, cached, written, completion) => {
        const usage = {
          prompt_tokens: prompt,
          completion_tokens: completion,
          prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
        };
        const { inputTokens = -1, cachedInputTokens = -1, cacheWriteTokens = -1, outputTokens } = chatUsage({ usage }) ?? {};
        expect(inputTokens + cachedInputTokens + cacheWriteTokens).toBe(prompt);
        // The meter takes a negative number for no count.
        expect(inputTokens < 0).toBe(cached + written > prompt);
        expect(outputTokens).toBe(completion);
      }),
    );
  });

  test("no JSON crashes it", () => {
    fc.assert(fc.property(fc.jsonValue(), (json) => void chatUsage({ usage: json, choices: json, x_groq: json })));
  });
});
