/** What became of a Model, in the words and shape that Kubernetes shows. */
export interface ModelStatus {
  conditions: readonly Condition[];
  /** Names under which clients are served; absent if they are not. */
  names?: readonly string[];
  backends: readonly BackendStatus[];
}

export interface Condition {
  /**
   * Accepted: the resource is one that can be served. ResolvedRefs: its Secrets are there and usable. Reachable: the hosts
   * of its backends exist. Programmed: every Envoy took it, and clients can use it. AliasesAccepted: only where one is not.
   */
  type: "Accepted" | "AliasesAccepted" | "ResolvedRefs" | "Reachable" | "Programmed";
  isTrue: boolean;
  /** It concerns a part of the Model: clients can use the rest. */
  isPartial?: boolean;
  reason: ConditionReason;
  /** For people; no secret is ever in it. */
  message: string;
}

export type ConditionReason =
  | "Accepted"
  | "Invalid"
  | "NameConflict"
  | "Sunset"
  | "AddressNotAllowed"
  | "Reachable"
  | "HostNotFound"
  | "ResolvedRefs"
  | "SecretNotFound"
  | "SecretForbidden"
  | "KeyMissing"
  | "InvalidCredential"
  | "InvalidCertificate"
  | "Programmed"
  | "Pending"
  | "Suspended"
  | "NotServed"
  | "RejectedByEnvoy";

interface BackendStatus {
  name: string;
  isReady: boolean;
  message: string;
}

/** The first thing that is wrong, for a log line; null where all is well or wanted so. */
export function complaintOf({ conditions }: ModelStatus): string | null {
  const wrong = conditions.find(({ isTrue, reason }) => !isTrue && reason !== "Suspended" && reason !== "Pending");
  return wrong === undefined ? null : `${wrong.reason}: ${wrong.message}`;
}

/** The status once Envoy and the catalogue have it: what was pending is done. */
export function toProgrammed(status: ModelStatus, message: string): ModelStatus {
  const conditions = status.conditions.map((condition) =>
    condition.reason === "Pending" ? ({ ...condition, isTrue: true, reason: "Programmed", message } as const) : condition,
  );
  return { ...status, conditions };
}

/** The status where Envoy refused the whole of what it was sent. */
export function toRejected(status: ModelStatus, words: string): ModelStatus {
  const conditions = status.conditions.map((condition) =>
    condition.reason === "Pending" ? ({ ...condition, reason: "RejectedByEnvoy", message: words } as const) : condition,
  );
  return { ...status, conditions };
}
