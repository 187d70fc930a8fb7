import type { ResponsesRequest } from "../../protocol/responses/request.ts";
import type { ThinkingWish } from "../conversation/wish.ts";

/** A wish for (no) thinking; null where the client says nothing. */
export function readThinking({ reasoning }: ResponsesRequest): ThinkingWish | null {
  const effort = reasoning?.effort ?? null;
  if (effort === null) return null;
  const said = { budgetTokens: null, fields: ["reasoning"] };
  return effort === "none"
    ? { mode: "off", effort: null, effortField: null, ...said }
    : { mode: "on", effort, effortField: "reasoning", ...said };
}
