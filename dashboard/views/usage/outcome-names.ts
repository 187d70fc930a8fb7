import type { Outcome } from "../../../ledger/settlement/settlement.ts";

/** How a request ended, for people. */
export const OUTCOME_NAMES: Readonly<Record<Outcome, string>> = {
  complete: "complete",
  truncated: "cut off",
  failed: "failed",
  aborted: "closed by you",
  stopped: "out of credit",
  lost: "lost",
};

/** What that means for the charge. */
export const OUTCOME_NOTES: Readonly<Record<Outcome, string>> = {
  complete: "The answer came whole.",
  truncated: "The model server broke off: what had come is charged.",
  failed: "The model server failed before the first token: nothing is charged.",
  aborted: "Your side closed the connection: what had come until then is charged.",
  stopped: "Your credit ran out: what had come until then is charged.",
  lost: "The gateway lost sight of it: what was noted last is charged.",
};
