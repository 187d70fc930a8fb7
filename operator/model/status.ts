/** A Model's outcome, in the format that Kubernetes shows. */
export interface ModelStatus {
  conditions: readonly Condition[];
  /** Names under which clients are served; absent if they are not. */
  names?: readonly string[];
  backends: readonly BackendStatus[];
}

export interface Condition {
  /**
   * Accepted: the resource can be served. ResolvedRefs: its Secrets and pools exist and are usable. Reachable: the hosts of its
   * backends exist, and its pools have pods. Programmed: every Envoy has accepted it, and clients can use it. AliasesAccepted: only if one is not.
   */
  type: "Accepted" | "AliasesAccepted" | "ResolvedRefs" | "Reachable" | "Programmed";
  isTrue: boolean;
  /** It concerns a part of the Model: clients can use the rest. */
  isPartial?: boolean;
  reason: ConditionReason;
  /** For people; it never contains a secret. */
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
  | "NoReadyPods"
  | "ResolvedRefs"
  | "SecretNotFound"
  | "SecretForbidden"
  | "SecretUnreadable"
  | "KeyMissing"
  | "InvalidCredential"
  | "InvalidCertificate"
  | "PoolNotFound"
  | "PoolForbidden"
  | "PoolInvalid"
  | "PoolUnreadable"
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

/** The first problem, for a log line; null if there is none or it is intended. */
export function complaintOf({ conditions }: ModelStatus): string | null {
  const wrong = conditions.find(({ isTrue, reason }) => !isTrue && reason !== "Suspended" && reason !== "Pending");
  return wrong === undefined ? null : `${wrong.reason}: ${wrong.message}`;
}

/** The status once Envoy and the catalogue have it: pending conditions become true. */
export function toProgrammed(status: ModelStatus, message: string): ModelStatus {
  const conditions = status.conditions.map((condition) =>
    condition.reason === "Pending" ? ({ ...condition, isTrue: true, reason: "Programmed", message } as const) : condition,
  );
  return { ...status, conditions };
}

/** The status if Envoy rejected the whole configuration. */
export function toRejected(status: ModelStatus, words: string): ModelStatus {
  const conditions = status.conditions.map((condition) =>
    condition.reason === "Pending" ? ({ ...condition, reason: "RejectedByEnvoy", message: words } as const) : condition,
  );
  return { ...status, conditions };
}
