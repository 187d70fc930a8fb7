import type { OrOther } from "../../../ledger/postgres/known-or-other.ts";
import type { RequestStatus } from "../../usage/filter.ts";
import type { Outcome } from "../../../ledger/settlement/settlement.ts";

interface EndedRequest {
  outcome: OrOther<Outcome>;
  httpStatus: number;
}

interface NamedOutcome {
  name: string;
  badge: string;
  /** Its effect on the charge. */
  note: string;
}

/** A complete answer with the status of an error was refused by the content check of its model. */
export function describeOutcome({ outcome, httpStatus }: EndedRequest): NamedOutcome {
  if (outcome === "complete" && httpStatus >= 400) return REFUSED;
  if (outcome === "other") return OTHER_OUTCOME;
  return { name: OUTCOME_NAMES[outcome], badge: OUTCOME_BADGES[outcome], note: OUTCOME_NOTES[outcome] };
}

const REFUSED: NamedOutcome = {
  name: "Refused",
  badge: "failed",
  note: "The content check of this model refused the response, or the rest of it. What the model server generated is charged.",
};

const OTHER_OUTCOME: NamedOutcome = { name: "Other", badge: "", note: "This version of the service does not know this outcome." };

/** Display names of outcomes. */
const OUTCOME_NAMES: Readonly<Record<Outcome, string>> = {
  complete: "Completed",
  truncated: "Interrupted",
  failed: "Failed",
  aborted: "Canceled",
  stopped: "Out of credit",
  lost: "Lost",
};

/** Display names of all that a list can be filtered by. */
export const STATUS_NAMES: Readonly<Record<RequestStatus, string>> = { ...OUTCOME_NAMES, refused: REFUSED.name };

/** The badge of each. */
const OUTCOME_BADGES: Readonly<Record<Outcome, string>> = {
  complete: "active",
  truncated: "warn",
  failed: "failed",
  aborted: "",
  stopped: "warn",
  lost: "warn",
};

/** Their effect on the charge. */
const OUTCOME_NOTES: Readonly<Record<Outcome, string>> = {
  complete: "The response was delivered in full.",
  truncated: "The model server stopped mid-response. What was delivered is charged.",
  failed: "The model server failed before the first token. Nothing is charged.",
  aborted: "Your client closed the connection. What was generated until then is charged.",
  stopped: "Your credit ran out mid-response. What was delivered until then is charged.",
  lost: "The gateway restarted during the request. What was last recorded is charged.",
};
