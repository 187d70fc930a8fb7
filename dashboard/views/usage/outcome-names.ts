import type { Outcome } from "../../../ledger/settlement/settlement.ts";

/** Display names of outcomes. */
export const OUTCOME_NAMES: Readonly<Record<Outcome, string>> = {
  complete: "Completed",
  truncated: "Interrupted",
  failed: "Failed",
  aborted: "Cancelled",
  stopped: "Out of credit",
  lost: "Lost",
};

/** The badge of each. */
export const OUTCOME_BADGES: Readonly<Record<Outcome, string>> = {
  complete: "active",
  truncated: "warn",
  failed: "failed",
  aborted: "",
  stopped: "warn",
  lost: "warn",
};

/** Their effect on the charge. */
export const OUTCOME_NOTES: Readonly<Record<Outcome, string>> = {
  complete: "The response was delivered in full.",
  truncated: "The model server stopped mid-response. What was delivered is charged.",
  failed: "The model server failed before the first token. Nothing is charged.",
  aborted: "Your client closed the connection. What was generated until then is charged.",
  stopped: "Your credit ran out mid-response. What was delivered until then is charged.",
  lost: "The gateway restarted during the request. What was last recorded is charged.",
};
