import type { Effort, Profile } from "../../../contract/profile.ts";
import type { Encodable } from "../../protocol/json/raw.ts";
import type { MessagesRequest, Thinking } from "../../protocol/messages/request.ts";
import type { DroppedFields } from "./dropped-fields.ts";

type Members = { readonly [name: string]: Encodable };

/** The wish for thinking, and how hard, in the words of the server (profile flag `thinkingControl`). */
export function translateThinking(request: MessagesRequest, profile: Profile, dropped: DroppedFields): Members {
  const { thinking } = request;
  noteUnsaid(request, dropped);
  const effort = request.output_config?.effort ?? null;
  // An effort would switch on again what was switched off.
  const isOff = thinking?.type === "disabled";
  if (isOff && effort !== null) dropped.add("output_config");
  const wanted = isOff ? null : (effort ?? budgetEffort(thinking));
  switch (profile.thinkingControl) {
    case "reasoning_effort":
      return effortMember(isOff ? "none" : wanted, profile);
    case "thinking_type":
      return { ...thinkingType(thinking), ...effortMember(wanted, profile) };
    case "chat_template_kwargs":
      return { ...templateSwitch(thinking), ...effortMember(wanted, profile) };
    // These are for messages upstreams, or for models that don't think.
    case "adaptive":
    case "budget":
    case "none":
      if (thinking) dropped.add("thinking");
      if (effort !== null) dropped.add("output_config");
      return {};
  }
}

function effortMember(effort: Effort | null, { efforts }: Profile): Members {
  return effort === null ? {} : { reasoning_effort: efforts[effort] ?? effort };
}

/** Members whose absence the model can't notice. */
function noteUnsaid({ thinking, output_config: output }: MessagesRequest, dropped: DroppedFields): void {
  if (thinking && "display" in thinking && thinking.display === "omitted") dropped.add("thinking.display");
  if ((output?.task_budget ?? null) !== null) dropped.add("output_config.task_budget");
}

/** Chat knows words where messages counts tokens: the nearest word. Adaptive leaves it to the model. */
function budgetEffort(thinking: Thinking | null | undefined): Effort | null {
  if (thinking?.type !== "enabled") return null;
  const budget = thinking.budget_tokens;
  if (budget <= 512) return "minimal";
  if (budget <= 1_024) return "low";
  if (budget <= 8_192) return "medium";
  return budget <= 24_576 ? "high" : "xhigh";
}

function thinkingType(thinking: Thinking | null | undefined): Members {
  if (thinking?.type === "enabled") return { thinking: { type: "enabled" } };
  return thinking?.type === "disabled" ? { thinking: { type: "disabled" } } : {};
}

/** Chat templates call the switch by two names; one that a template does not know is ignored. */
function templateSwitch(thinking: Thinking | null | undefined): Members {
  if (thinking?.type !== "enabled" && thinking?.type !== "disabled") return {};
  const isOn = thinking.type === "enabled";
  return { chat_template_kwargs: { enable_thinking: isOn, thinking: isOn } };
}
