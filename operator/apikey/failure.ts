import { encodeConditions, readConditions, type StoredCondition } from "../kube/conditions.ts";
import { isDatabaseFailure } from "../../ledger/postgres/failure.ts";
import { KubeError, KubeUnansweredError } from "../kube/kube-error.ts";
import type { KubeObject } from "../kube/object.ts";
import { CLAIM_FIELD } from "../kube/ownership.ts";
import { ACTIVITY_FIELDS } from "./activity.ts";

export const RECONCILE_FAILED = "ReconcileFailed";

export interface FailureDescription {
  /** The whole status except the claim, and what `activity.ts` writes. */
  status: object;
  message: string;
}

/**
 * The ApiKey's status when the operator cannot fulfil it. Null if the last status still holds: an outage of Postgres changes
 * nothing about a key that is in sync, and must not rewrite thousands of them.
 */
export function describeFailure(object: KubeObject, error: unknown, nowMs: number): FailureDescription | null {
  const { generation } = object.metadata;
  const before = readConditions(object["status"]);
  if (!(error instanceof KubeError) && isSettled(before, generation)) return null;
  const message = `${wordsFor(error)}; the operator keeps trying`;
  const failed = { type: "Ready", isTrue: false, reason: RECONCILE_FAILED, message };
  const [ready] = encodeConditions({ wanted: [failed], before, generation, nowMs });
  const others = before.filter(({ type }) => type !== "Ready");
  return { status: { ...keptFields(object), conditions: [...(ready === undefined ? [] : [ready]), ...others] }, message };
}

function isSettled(conditions: readonly StoredCondition[], generation: number): boolean {
  const ready = conditions.find(({ type }) => type === "Ready");
  return ready?.observedGeneration === generation && ready.reason !== RECONCILE_FAILED;
}

/** The authorizer's words. */
const LACKS_RIGHTS = / cannot [a-z]+ resource /;

/** Other errors may contain addresses and statements, which are none of the business of a namespace's members. */
function wordsFor(error: unknown): string {
  if (error instanceof KubeUnansweredError) return error.message;
  if (isDatabaseFailure(error)) return "the ledger's database cannot be used at the moment; the operator's log says why";
  if (!(error instanceof KubeError)) return "the operator failed; its log says why";
  // A quota and a namespace that is being deleted are a 403, too.
  if (error.code !== 403 || !LACKS_RIGHTS.test(error.message)) return error.message;
  return `${error.message}; "helm upgrade" restores the operator's Role in a namespace that was recreated`;
}

function keptFields(object: KubeObject): object {
  const status = object["status"];
  const left = ["conditions", CLAIM_FIELD, ...ACTIVITY_FIELDS];
  if (typeof status !== "object" || status === null) return {};
  return Object.fromEntries(Object.entries(status).filter(([name]) => !left.includes(name)));
}
