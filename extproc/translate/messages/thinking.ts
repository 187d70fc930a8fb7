import type { Profile } from "../../../contract/profile.ts";
import type { MessagesRequest } from "../../protocol/messages/request.ts";
import type { Omitted } from "../conversation/conversation.ts";
import type { ThinkingWish } from "../conversation/wish.ts";
import type { Block, WireTurn } from "./wire-block.ts";

/** The client's request for thinking, and its effort; null if there is none. */
export function readThinking({ thinking, output_config: output }: MessagesRequest, omitted: Omitted): ThinkingWish | null {
  // A model cannot notice their absence.
  if (thinking && "display" in thinking && thinking.display === "omitted") omitted.wishes.add("thinking.display");
  if ((output?.task_budget ?? null) !== null) omitted.wishes.add("output_config.task_budget");
  const effort = output?.effort ?? null;
  if (!thinking && effort === null) return null;
  return {
    mode: thinking?.type === "enabled" ? "on" : thinking?.type === "disabled" ? "off" : "auto",
    effort,
    budgetTokens: thinking?.type === "enabled" ? thinking.budget_tokens : null,
    fields: [...(thinking ? ["thinking"] : []), ...(effort === null ? [] : ["output_config"])],
    effortField: effort === null ? null : "output_config",
  };
}

/** How a request asks its server to think. */
export interface ThinkingPlan {
  thinking: Block | undefined;
  /** `output_config.effort`. */
  effort: string | undefined;
  /** Is the server asked to think? It then limits the sampling fields. */
  isOn: boolean;
  omitted: readonly string[];
}

export interface ThinkingFacts {
  control: Profile["thinkingControl"];
  maxTokens: number;
  /** The client requires a tool call, which messages allows only without thinking. */
  isToolForced: boolean;
  /** As written. */
  turns: readonly WireTurn[];
}

/** The lowest budget that the messages protocol accepts. */
const MIN_BUDGET_TOKENS = 1024;
const DEFAULT_EFFORT = "medium";

/** Share of the output limit that each effort may spend on thinking. */
const BUDGET_SHARE = { minimal: 0.1, low: 0.2, medium: 0.5, high: 0.8, xhigh: 0.95, max: 0.95 } as const;

export function writeThinking(wish: ThinkingWish | null, facts: ThinkingFacts): ThinkingPlan {
  const unsaid: ThinkingPlan = { thinking: undefined, effort: undefined, isOn: false, omitted: [] };
  if (wish === null) return unsaid;
  if (facts.control === "none") return { ...unsaid, omitted: wish.fields };
  const disabled: ThinkingPlan = { ...unsaid, thinking: { type: "disabled" } };
  if (wish.mode === "off") return disabled;
  // Requiring a tool is a constraint, thinking a preference: the constraint is kept.
  if (facts.isToolForced) return { ...disabled, omitted: wish.fields };

  if (facts.control === "adaptive")
    return { ...unsaid, thinking: { type: "adaptive" }, effort: adaptiveEffort(wish), isOn: true };
  const budget = budgetTokens(wish, facts.maxTokens);
  // With a budget, messages requires the turn that called the tools to begin with its signed thinking.
  if (budget === null || isAnsweringUnthoughtCalls(facts.turns)) return { ...disabled, omitted: wish.fields };
  return { ...unsaid, thinking: { type: "enabled", budget_tokens: budget }, isOn: true };
}

function adaptiveEffort({ effort, budgetTokens }: ThinkingWish): string | undefined {
  if (effort !== null) return effort === "minimal" ? "low" : effort;
  if (budgetTokens === null) return undefined;
  if (budgetTokens <= 1024) return "low";
  if (budgetTokens <= 8192) return "medium";
  return budgetTokens <= 24_576 ? "high" : "xhigh";
}

/** Thinking tokens count against `max_tokens`, so the budget stays below it; null where there is no room to think. */
function budgetTokens(wish: ThinkingWish, maxTokens: number): number | null {
  if (maxTokens <= MIN_BUDGET_TOKENS) return null;
  const wanted = wish.budgetTokens ?? Math.floor(BUDGET_SHARE[wish.effort ?? DEFAULT_EFFORT] * maxTokens);
  return Math.min(Math.max(wanted, MIN_BUDGET_TOKENS), maxTokens - 1);
}

function isAnsweringUnthoughtCalls(all: readonly WireTurn[]): boolean {
  const turns = all.filter(({ role }) => role !== "system");
  const isAnswering = turns.at(-1)?.content.some((block) => block["type"] === "tool_result") ?? false;
  const first = turns.at(-2)?.content[0]?.["type"];
  return isAnswering && first !== "thinking" && first !== "redacted_thinking";
}
