import type { Effort, Profile } from "../../../contract/profile.ts";
import type { Encodable } from "../../protocol/json/raw.ts";
import type { ResponsesRequest } from "../../protocol/responses/request.ts";
import type { Omitted } from "../conversation/conversation.ts";
import { budgetEffort, type ThinkingWish } from "../conversation/wish.ts";

/** A request for (no) thinking; null if there is none. */
export function readThinking({ reasoning }: ResponsesRequest): ThinkingWish | null {
  const effort = reasoning?.effort ?? null;
  if (effort === null) return null;
  const common = { budgetTokens: null, fields: ["reasoning"] };
  return effort === "none"
    ? { mode: "off", effort: null, effortField: null, ...common }
    : { mode: "on", effort, effortField: "reasoning", ...common };
}

type Members = { readonly [name: string]: Encodable };

/**
 * The request in the server's terms (profile flag `thinkingControl`). Reasoning is requested in sealed form as well: the server
 * keeps nothing, and can continue it only if it gets it back.
 */
export function writeThinking(wish: ThinkingWish | null, profile: Profile, { wishes: omitted }: Omitted): Members {
  switch (profile.thinkingControl) {
    case "reasoning_effort":
      return { reasoning: wish === null ? undefined : reasoningOf(wish, profile), include: ["reasoning.encrypted_content"] };
    // These are for servers of other protocols, or for models that don't think.
    case "thinking_type":
    case "chat_template_kwargs":
    case "adaptive":
    case "budget":
    case "none":
      for (const field of wish?.fields ?? []) omitted.add(field);
      return {};
  }
}

/** A client that requests thinking wants to read it. */
function reasoningOf(wish: ThinkingWish, { efforts }: Profile): Encodable {
  const wanted: Effort | null = wish.mode === "off" ? "none" : (wish.effort ?? budgetEffort(wish.budgetTokens));
  return {
    effort: wanted === null ? undefined : (efforts[wanted] ?? wanted),
    summary: wish.mode === "off" ? undefined : "auto",
  };
}
