import type { Effort, Profile } from "../../../contract/profile.ts";
import type { ChatRequest } from "../../protocol/chat/request.ts";
import type { Block, Turn } from "./block.ts";

/** How a request asks its upstream to think. */
export interface ThinkingPlan {
  thinking: Block | undefined;
  /** `output_config.effort`. */
  effort: string | undefined;
  /** Is the upstream asked to think? It then limits the sampling fields. */
  isOn: boolean;
  dropped: string[];
}

export interface ThinkingFacts {
  control: Profile["thinkingControl"];
  maxTokens: number;
  /** The client demands a tool call, which messages allows only without thinking. */
  isToolForced: boolean;
  turns: readonly Turn[];
}

type Wish =
  | { kind: "none" }
  | { kind: "off" }
  | { kind: "on"; effort: Exclude<Effort, "none"> | null; budgetTokens: number | null };

/** The least budget that the messages protocol takes. */
const MIN_BUDGET_TOKENS = 1024;
const DEFAULT_EFFORT = "medium";

/** Share of the output limit that each effort may spend on thinking. */
const BUDGET_SHARE = { minimal: 0.1, low: 0.2, medium: 0.5, high: 0.8, xhigh: 0.95, max: 0.95 } as const;
const WISH_FIELDS = ["reasoning_effort", "reasoning", "thinking", "chat_template_kwargs"] as const;
type WishFields = Pick<ChatRequest, (typeof WISH_FIELDS)[number]>;

/** A wish for (no) thinking, from whichever field the client's dialect has for it. */
export function planThinking(request: WishFields, facts: ThinkingFacts): ThinkingPlan {
  const wish = readWish(request);
  const named = WISH_FIELDS.filter((field) => request[field] !== undefined && request[field] !== null);
  const dropped: ThinkingPlan = { thinking: undefined, effort: undefined, isOn: false, dropped: named };

  if (wish.kind === "none") return { ...dropped, dropped: [] };
  if (facts.control === "none") return dropped;
  const disabled: ThinkingPlan = { ...dropped, thinking: { type: "disabled" } };
  if (wish.kind === "off") return { ...disabled, dropped: [] };
  // Demanding a tool is a constraint, thinking a wish: the constraint stays.
  if (facts.isToolForced) return { ...disabled, dropped: named };

  if (facts.control === "adaptive") {
    return { thinking: { type: "adaptive" }, effort: adaptiveEffort(wish), isOn: true, dropped: [] };
  }
  const budget = budgetTokens(wish, facts.maxTokens);
  // With a budget, messages wants the turn that called the tools to begin with its thinking, signed.
  if (budget === null || isAnsweringUnthoughtCalls(facts.turns)) return disabled;
  return { thinking: { type: "enabled", budget_tokens: budget }, effort: undefined, isOn: true, dropped: [] };
}

function readWish(request: WishFields): Wish {
  const { reasoning, thinking, chat_template_kwargs: template } = request;
  const effort = request.reasoning_effort ?? reasoning?.effort ?? null;
  const budget = reasoning?.max_tokens ?? thinking?.budget_tokens ?? null;
  const templateSwitch = template?.enable_thinking ?? template?.thinking ?? null;

  if (effort === "none" || reasoning?.enabled === false || thinking?.type === "disabled") return { kind: "off" };
  const isAsked =
    effort !== null || budget !== null || reasoning?.enabled === true || (thinking !== undefined && thinking !== null);
  if (isAsked) return { kind: "on", effort, budgetTokens: budget };
  if (templateSwitch === null) return { kind: "none" };
  return templateSwitch ? { kind: "on", effort: null, budgetTokens: null } : { kind: "off" };
}

function adaptiveEffort(wish: Extract<Wish, { kind: "on" }>): string | undefined {
  if (wish.effort !== null) return wish.effort === "minimal" ? "low" : wish.effort;
  if (wish.budgetTokens === null) return undefined;
  if (wish.budgetTokens <= 1024) return "low";
  if (wish.budgetTokens <= 8192) return "medium";
  return wish.budgetTokens <= 24_576 ? "high" : "xhigh";
}

/** Thinking tokens count against `max_tokens`, so the budget stays below it; null where there is no room to think. */
function budgetTokens(wish: Extract<Wish, { kind: "on" }>, maxTokens: number): number | null {
  if (maxTokens <= MIN_BUDGET_TOKENS) return null;
  const wanted = wish.budgetTokens ?? Math.floor(BUDGET_SHARE[wish.effort ?? DEFAULT_EFFORT] * maxTokens);
  return Math.min(Math.max(wanted, MIN_BUDGET_TOKENS), maxTokens - 1);
}

function isAnsweringUnthoughtCalls(all: readonly Turn[]): boolean {
  const turns = all.filter(({ role }) => role !== "system");
  const isAnswering = turns.at(-1)?.content.some((block) => block["type"] === "tool_result") ?? false;
  const first = turns.at(-2)?.content[0]?.["type"];
  return isAnswering && first !== "thinking" && first !== "redacted_thinking";
}
