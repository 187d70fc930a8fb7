import type { Effort, Profile } from "../../../contract/profile.ts";
import type { ChatRequest } from "../../protocol/chat/request.ts";
import type { Encodable } from "../../protocol/json/raw.ts";
import type { Omitted } from "../conversation/conversation.ts";
import { budgetEffort, type ThinkingWish } from "../conversation/wish.ts";

const FIELDS = ["reasoning_effort", "reasoning", "thinking", "chat_template_kwargs"] as const;

/** A request for (no) thinking, from whichever field the client's dialect has for it; null if there is none. */
export function readThinking(request: Pick<ChatRequest, (typeof FIELDS)[number]>): ThinkingWish | null {
  const { reasoning, thinking, chat_template_kwargs: template } = request;
  const effort = request.reasoning_effort ?? reasoning?.effort ?? null;
  const budgetTokens = reasoning?.max_tokens ?? thinking?.budget_tokens ?? null;
  const templateSwitch = template?.enable_thinking ?? template?.thinking ?? null;
  const fields = FIELDS.filter((field) => request[field] !== undefined && request[field] !== null);
  const effortField = fields.find((field) => field === "reasoning_effort" || field === "reasoning") ?? null;
  const off = { mode: "off", effort: null, budgetTokens: null, fields, effortField: null } as const;

  if (effort === "none" || reasoning?.enabled === false || thinking?.type === "disabled") return off;
  const isAsked =
    effort !== null || budgetTokens !== null || reasoning?.enabled === true || (thinking !== undefined && thinking !== null);
  if (isAsked) return { mode: "on", effort, budgetTokens, fields, effortField };
  if (templateSwitch === null) return null;
  return templateSwitch ? { mode: "on", effort: null, budgetTokens: null, fields, effortField: null } : off;
}

type Members = { readonly [name: string]: Encodable };

/** The request in the server's terms (profile flag `thinkingControl`). */
export function writeThinking(wish: ThinkingWish | null, profile: Profile, { wishes: omitted }: Omitted): Members {
  if (wish === null) return {};
  const isOff = wish.mode === "off";
  // An effort would re-enable thinking that was switched off.
  if (isOff && wish.effortField !== null) omitted.add(wish.effortField);
  const wanted = isOff ? null : (wish.effort ?? budgetEffort(wish.budgetTokens));
  switch (profile.thinkingControl) {
    case "reasoning_effort":
      return effortMember(isOff ? "none" : wanted, profile);
    case "thinking_type":
      return { ...thinkingType(wish), ...effortMember(wanted, profile) };
    case "chat_template_kwargs":
      return { ...templateSwitch(wish), ...effortMember(wanted, profile) };
    // These are for messages servers, or for models that don't think.
    case "adaptive":
    case "budget":
    case "none":
      for (const field of wish.fields) omitted.add(field);
      return {};
  }
}

function effortMember(effort: Effort | null, { efforts }: Profile): Members {
  return effort === null ? {} : { reasoning_effort: efforts[effort] ?? effort };
}

function thinkingType({ mode }: ThinkingWish): Members {
  if (mode === "auto") return {};
  return { thinking: { type: mode === "on" ? "enabled" : "disabled" } };
}

/** Chat templates use two names for the switch; a name that a template does not know is ignored. */
function templateSwitch({ mode }: ThinkingWish): Members {
  if (mode === "auto") return {};
  return { chat_template_kwargs: { enable_thinking: mode === "on", thinking: mode === "on" } };
}
