import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { maskApiKey } from "../../ledger/keys/keys.ts";
import { parseNanoUsd } from "../../ledger/money.ts";
import type { ResourceKey } from "../../ledger/keys/resource-keys.ts";
import { encodeConditions, readConditions, summarise, type WantedCondition } from "../kube/conditions.ts";
import type { KubeObject } from "../kube/object.ts";
import type { SecretProblem } from "./reconcile.ts";
import type { ApiKeyResource } from "./resource.ts";
import { secretReference } from "./secret-object.ts";

/** Findings about an ApiKey. */
export type ApiKeyOutcome =
  | { kind: "invalid"; problems: readonly string[] }
  | {
      kind: "valid";
      resource: ApiKeyResource;
      hasAccount: boolean;
      hasProject: boolean;
      key: ResourceKey | null;
      secretProblem: SecretProblem | null;
    };

/** An ApiKey's conditions, the summary first. */
export function decideConditions(outcome: ApiKeyOutcome, nowMs: number): WantedCondition[] {
  if (outcome.kind === "invalid") {
    const accepted = { type: "Accepted", isTrue: false, reason: "Invalid", message: outcome.problems.join("; ") };
    return [summarise([accepted], ACTIVE), accepted];
  }
  const { resource, hasAccount, hasProject, key, secretProblem } = outcome;
  const { account } = resource.spec;
  if (!hasAccount) {
    const message = `there is no account ${account}; ask an administrator to create it`;
    const accepted = { type: "Accepted", isTrue: false, reason: "AccountUnknown", message };
    return [summarise([accepted], ACTIVE), accepted];
  }
  const accepted = { type: "Accepted", isTrue: true, reason: "Accepted", message: `a key of account ${account}` };
  const secret = secretCondition(resource, secretProblem);
  const synced = syncedCondition(key);
  const wrong = key === null ? null : whyRefused(resource, key, nowMs);
  const summary = wrong === null ? summarise([accepted, secret, synced], ACTIVE) : { type: "Ready", isTrue: false, ...wrong };
  // Not in the summary: requests with the key are served.
  return [summary, accepted, secret, synced, ...(key === null ? [] : projectConditions(resource, hasProject))];
}

function projectConditions({ spec: { account, project } }: ApiKeyResource, hasProject: boolean): WantedCondition[] {
  if (project === undefined) return [];
  const type = "ProjectFound";
  return hasProject
    ? [{ type, isTrue: true, reason: "Found", message: `the key is in project ${project}` }]
    : [
        {
          type,
          isTrue: false,
          reason: "ProjectUnknown",
          message: `account ${account} has no project ${project}, and the key stays where it is; create the project in the dashboard`,
        },
      ];
}

const ACTIVE = { reason: "Active", message: "requests with the key are served" };

function secretCondition(resource: ApiKeyResource, problem: SecretProblem | null): WantedCondition {
  const { name, key } = secretReference(resource);
  const not = (reason: SecretProblem, message: string) => ({ type: "SecretReady", isTrue: false, reason, message });
  switch (problem) {
    case null:
      return {
        type: "SecretReady",
        isTrue: true,
        reason: "SecretReady",
        message: `Secret ${name} contains the value in key ${key}`,
      };
    case "TooManyKeys":
      return not(
        problem,
        `account ${resource.spec.account} has ${ACCOUNT_BOUNDS.keysWithResources} keys, including those deleted in the last 24 hours, which is the maximum; delete unused ApiKeys`,
      );
    case "NameTaken":
      return not(
        problem,
        `Secret ${name} already exists and belongs to something else; if it is left over from an earlier ApiKey of this name, delete it, otherwise create a new ApiKey with another name in spec.secretRef`,
      );
    case "SecretMissing":
      return not(
        problem,
        `Secret ${name} was deleted; the key stays valid. Increase spec.rotation.generation to create a new value, or delete the ApiKey`,
      );
    case "SecretChanged":
      return not(
        problem,
        `Secret ${name} does not contain this key's value in key ${key}; restore it, or increase spec.rotation.generation to create a new one`,
      );
  }
}

function syncedCondition(key: ResourceKey | null): WantedCondition {
  const type = "Synced";
  if (key === null) return { type, isTrue: false, reason: "Pending", message: "the gateway has not applied the key yet" };
  if (key.revokedForMs !== null)
    return {
      type,
      isTrue: false,
      reason: "Revoked",
      message: "the key was permanently deleted in the dashboard; create another ApiKey",
    };
  return { type, isTrue: true, reason: "Synced", message: "the gateway has applied the key as specified" };
}

/** Why requests with a valid key are still refused; null if they are served. */
function whyRefused({ spec }: ApiKeyResource, key: ResourceKey, nowMs: number): { reason: string; message: string } | null {
  if (key.revokedForMs !== null) return null;
  if (spec.disabled) return { reason: "Disabled", message: "spec.disabled is true" };
  if (spec.expiresAt !== undefined && Date.parse(spec.expiresAt) <= nowMs)
    return { reason: "Expired", message: `spec.expiresAt ${spec.expiresAt} has passed` };
  if (isSpent(spec.spendLimit, key.spent)) {
    const window = spec.spendLimit?.window === "Day" ? "day" : "month";
    return {
      reason: "SpendLimitReached",
      message: `spec.spendLimit of ${spec.spendLimit?.amount} USD is used up until the UTC ${window} ends`,
    };
  }
  return null;
}

/** The spending that counts against the limit: of the month if there is none. */
export function spentOf({ spendLimit }: Pick<ApiKeyResource["spec"], "spendLimit">, spent: ResourceKey["spent"]): bigint {
  return spendLimit?.window === "Day" ? spent.dayNanoUsd : spent.monthNanoUsd;
}

export function isSpent(spendLimit: ApiKeyResource["spec"]["spendLimit"], spent: ResourceKey["spent"]): boolean {
  return spendLimit !== undefined && spentOf({ spendLimit }, spent) >= parseNanoUsd(spendLimit.amount);
}

/** The status in the format of `apiKeyStatusSchema`, except what `activity.ts` writes. */
export function encodeApiKeyStatus(
  object: KubeObject,
  outcome: ApiKeyOutcome,
  { nowMs, managed }: { nowMs: number; managed: WantedCondition },
): object {
  const { generation } = object.metadata;
  const before = readConditions(object["status"]);
  const conditions = encodeConditions({ wanted: [...decideConditions(outcome, nowMs), managed], before, generation, nowMs });
  const key = outcome.kind === "valid" ? outcome.key : null;
  if (outcome.kind === "invalid" || key === null) return { observedGeneration: generation, conditions };
  const { previousUntil } = key;
  return {
    observedGeneration: generation,
    keyId: key.publicId,
    keyPrefix: maskApiKey(key.publicId),
    secretName: secretReference(outcome.resource).name,
    observedRotation: key.rotation,
    ...(previousUntil !== null && previousUntil.getTime() > nowMs ? { previousKeyExpiresAt: toTime(previousUntil) } : {}),
    conditions,
  };
}

/** To the second, as Kubernetes writes times. */
export function toTime(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
