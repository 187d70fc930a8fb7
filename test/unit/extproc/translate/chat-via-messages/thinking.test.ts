import { describe, expect, test } from "vitest";
import type { Profile } from "../../../../../contract/profile.ts";
import { createTranslation } from "../../../../../extproc/translate/choose.ts";
import { inputFor } from "../input.ts";

const MESSAGES = [{ role: "user", content: "hi" }];

function translate(
  control: Profile["thinkingControl"],
  fields: object,
): { thinking: unknown; effort: unknown; dropped: readonly string[] } {
  const request = { model: "m", messages: MESSAGES, max_tokens: 10_000, ...fields };
  const { upstream, dropped } = createTranslation(
    "chat",
    inputFor(request, { upstream: "messages", flags: { thinkingControl: control }, maxOutputTokens: 32_000 }),
  );
  const body: { thinking?: unknown; output_config?: { effort?: unknown } } = JSON.parse(upstream.body.toString());
  return { thinking: body.thinking, effort: body.output_config?.effort, dropped };
}

const budget = (tokens: number) => ({ type: "enabled", budget_tokens: tokens });

describe("an upstream that accepts a budget", () => {
  test.for([
    ["minimal", { reasoning_effort: "minimal" }, budget(1024)],
    ["low", { reasoning_effort: "low" }, budget(2000)],
    ["medium", { reasoning_effort: "medium" }, budget(5000)],
    ["high", { reasoning_effort: "high" }, budget(8000)],
    ["xhigh", { reasoning_effort: "xhigh" }, budget(9500)],
    ["max", { reasoning_effort: "max" }, budget(9500)],
    ["no effort named", { thinking: { type: "enabled" } }, budget(5000)],
    ["a budget named", { reasoning: { max_tokens: 3000 } }, budget(3000)],
    ["the same in messages' words", { thinking: { type: "enabled", budget_tokens: 3000 } }, budget(3000)],
    ["a budget over the output limit stays below it", { reasoning: { max_tokens: 90_000 } }, budget(9999)],
    ["a budget below the least is the least", { reasoning: { max_tokens: 5 } }, budget(1024)],
    ["enabled by a template switch", { chat_template_kwargs: { thinking: true } }, budget(5000)],
    ["off by effort", { reasoning_effort: "none" }, { type: "disabled" }],
    ["off by a template switch", { chat_template_kwargs: { enable_thinking: false } }, { type: "disabled" }],
    ["off by type", { thinking: { type: "disabled" } }, { type: "disabled" }],
    ["off by switch", { reasoning: { enabled: false } }, { type: "disabled" }],
    ["no wish", {}, undefined],
    ["an empty wish", { reasoning: {}, chat_template_kwargs: {} }, undefined],
  ] as const)("%s", ([, fields, thinking]) => {
    expect(translate("budget", fields)).toEqual({ thinking, effort: undefined, dropped: [] });
  });

  test("thinks with exactly one token left for the answer when the limit is 1025", () => {
    expect(translate("budget", { reasoning_effort: "max", max_tokens: 1025 }).thinking).toEqual(budget(1024));
  });

  test("cannot think within 1024 tokens, and lists that", () => {
    expect(translate("budget", { reasoning_effort: "max", max_tokens: 1024 })).toMatchObject({
      thinking: { type: "disabled" },
      dropped: ["reasoning_effort"],
    });
  });
});

describe("an upstream that thinks adaptively", () => {
  test.for([
    [{ reasoning_effort: "minimal" }, "low"],
    [{ reasoning_effort: "high" }, "high"],
    [{ reasoning_effort: "max" }, "max"],
    [{ reasoning: { max_tokens: 1024 } }, "low"],
    [{ reasoning: { max_tokens: 8192 } }, "medium"],
    [{ reasoning: { max_tokens: 24_576 } }, "high"],
    [{ reasoning: { max_tokens: 24_577 } }, "xhigh"],
    [{ reasoning: { enabled: true } }, undefined],
  ] as const)("%o is effort %s", ([fields, effort]) => {
    expect(translate("adaptive", fields)).toEqual({ thinking: { type: "adaptive" }, effort, dropped: [] });
  });
});

test("a forced tool call takes precedence over thinking, which is listed as dropped", () => {
  const tools = [{ type: "function", function: { name: "f" } }];
  for (const control of ["adaptive", "budget"] as const) {
    const { thinking, dropped } = translate(control, { reasoning_effort: "high", tools, tool_choice: "required" });
    expect({ thinking, dropped }).toEqual({ thinking: { type: "disabled" }, dropped: ["reasoning_effort"] });
  }
});
