import { parseApiKey } from "../../ledger/keys/keys.ts";
import type { ResourceKey } from "../../ledger/keys/resource-keys.ts";
import type { ApiKeyResource } from "./resource.ts";
import type { ObservedSecret } from "./secret-object.ts";
import { areSettingsSame, toSettings } from "./settings.ts";

/** The input of a decision about an ApiKey. */
export interface Observation {
  resource: ApiKeyResource;
  hasFinalizer: boolean;
  /** Whether its account exists. */
  hasAccount: boolean;
  /** Its key in the ledger. */
  key: ResourceKey | null;
  secret: ObservedSecret;
  /** The public id in the Secret belongs to another key in the ledger. */
  isForeignKey: boolean;
  /** Whether the account may have another ApiKey. */
  hasRoom: boolean;
  /** False if the account has no project of the name in the resource. */
  hasProject: boolean;
  /** This installation of the operator. */
  origin: string;
  nowMs: number;
  /** Whether this secret part has the hash in the ledger. */
  isStored(secret: string, hash: Buffer): boolean;
}

/** The next step; each can be repeated, so that a crash between any two loses nothing. */
export type Step =
  | { kind: "add finalizer" }
  | { kind: "read secret" }
  /** publicId null: of a new key. */
  | { kind: "create secret"; publicId: string | null; rotation: number }
  | { kind: "rotate secret"; publicId: string; rotation: number; resourceVersion: string; previous: string | null }
  | { kind: "store key"; publicId: string; secret: string; rotation: number }
  | { kind: "store rotation"; publicId: string; secret: string; rotation: number; previousUntilMs: number | null }
  | { kind: "end overlap"; resourceVersion: string }
  | { kind: "change settings" }
  | { kind: "assign project"; project: string }
  /** Nothing more: the problem with the Secret, or null. */
  | { kind: "done"; secretProblem: SecretProblem | null };

export type SecretProblem = "NameTaken" | "SecretMissing" | "SecretChanged" | "TooManyKeys";

/**
 * The next step for an ApiKey. A value is in its Secret before its hash is in the ledger: in the opposite order, a crash would
 * leave a key whose value nobody has.
 */
export function nextStep(observation: Observation): Step {
  const { resource, key, secret, hasFinalizer, hasAccount } = observation;
  if (!hasAccount) return { kind: "done", secretProblem: null };
  if (!hasFinalizer) return { kind: "add finalizer" };
  const wanted = resource.spec.rotation?.generation ?? 0;
  if (key === null) return stepToFirst(observation, wanted);
  if (key.revokedForMs !== null) return { kind: "done", secretProblem: null };
  // Writing them would lose settings of a newer version that this one cannot read.
  const isReadable = key.unknownLimits.length === 0;
  if (isReadable && (key.origin !== observation.origin || !areSettingsSame(key.settings, toSettings(resource))))
    return { kind: "change settings" };
  const { project } = resource.spec;
  if (project !== undefined && !key.isInProject && observation.hasProject) return { kind: "assign project", project };

  const isRotationDue = wanted > key.rotation;
  switch (secret.kind) {
    case "unread":
      return { kind: "read secret" };
    case "foreign":
      return { kind: "done", secretProblem: "NameTaken" };
    case "missing":
      // The person who deleted it may still use the value: a new one is created only on request.
      if (isRotationDue) return { kind: "create secret", publicId: key.publicId, rotation: wanted };
      return { kind: "done", secretProblem: "SecretMissing" };
    case "owned":
      return stepWithSecret({ ...observation, key, secret }, wanted);
  }
}

/** The ledger does not have the key yet. */
function stepToFirst({ secret, isForeignKey, hasRoom }: Observation, wanted: number): Step {
  if (!hasRoom) return { kind: "done", secretProblem: "TooManyKeys" };
  switch (secret.kind) {
    case "unread":
    case "missing":
      return { kind: "create secret", publicId: null, rotation: wanted };
    case "foreign":
      return { kind: "done", secretProblem: "NameTaken" };
    case "owned": {
      const value = parseApiKey(secret.value ?? "");
      if (value.kind !== "key" || isForeignKey) return { kind: "done", secretProblem: "SecretChanged" };
      return { kind: "store key", publicId: value.publicId, secret: value.secret, rotation: secret.rotation };
    }
  }
}

type WithSecret = Observation & { key: ResourceKey; secret: Extract<ObservedSecret, { kind: "owned" }> };

function stepWithSecret({ resource, key, secret, nowMs, isStored }: WithSecret, wanted: number): Step {
  const value = parseApiKey(secret.value ?? "");
  const { publicId, rotation } = key;
  const isOfKey = value.kind === "key" && value.publicId === publicId;
  // Created for a rotation that the ledger does not know: a crash came in between.
  if (isOfKey && secret.rotation > rotation && secret.rotation <= wanted) {
    const overlapMs = resource.spec.rotation?.overlap ?? 0;
    const previousUntilMs = overlapMs === 0 ? null : nowMs + overlapMs;
    return { kind: "store rotation", publicId, secret: value.secret, rotation: secret.rotation, previousUntilMs };
  }
  const isCurrent = isOfKey && isStored(value.secret, key.secretHash);
  if (wanted > rotation) {
    const isKept = isCurrent && (resource.spec.rotation?.overlap ?? 0) > 0;
    const previous = isKept ? (secret.value ?? null) : null;
    return { kind: "rotate secret", publicId, rotation: wanted, resourceVersion: secret.resourceVersion, previous };
  }
  if (!isCurrent) return { kind: "done", secretProblem: "SecretChanged" };
  const isOverlapOver = key.previousUntil === null || key.previousUntil.getTime() <= nowMs;
  if (secret.hasPrevious && isOverlapOver) return { kind: "end overlap", resourceVersion: secret.resourceVersion };
  return { kind: "done", secretProblem: null };
}
