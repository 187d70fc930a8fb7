import type { ModelResource } from "../model/resource.ts";
import type { ModelStatus } from "../model/status.ts";
import type { SourcedPool } from "./pool.ts";

/** A Model with information that only its source has. */
export interface SourcedModel {
  /** `namespace/name`. */
  key: string;
  /** Its location, for people: a file and line, or namespace and name. */
  origin: string;
  /** Unix seconds. */
  createdSeconds: number;
  resource: ModelResource;
  /** Names under which it was served when last read, by its status; none if the source keeps no status. */
  servedNames?: readonly string[];
}

/** Why a Secret cannot be read. */
export interface UnreadableSecret {
  reason: "SecretForbidden" | "SecretUnreadable";
  message: string;
}

/** All served resources, as one value. */
export interface ResourceSet {
  /** Oldest first: if two claim one name, the earlier keeps it. */
  models: readonly SourcedModel[];
  /** Values by key, by `namespace/name` of the Secret. Never to be logged. */
  secrets: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Secrets that the source cannot read, by the same names, and why. */
  unreadableSecrets?: ReadonlyMap<string, UnreadableSecret>;
  /** InferencePools that Models name, by `namespace/name`; absent if the source can have none. */
  pools?: ReadonlyMap<string, SourcedPool>;
}

/** A resource that the source rejected, or a file that it could not read. */
export interface Refusal {
  /** File or `namespace/name`. */
  origin: string;
  /** Line in the file, from 1; null if there is none. */
  line: number | null;
  /** `Model modelx-chat`; null if even that is unreadable. */
  subject: string | null;
  /** Field and remedy, as a message. */
  problem: string;
  /** Whether an earlier version of it is still served. */
  isLastGoodKept: boolean;
}

interface StatusReport {
  /** The resources that the statuses are about: `current()` may have changed since. */
  set: ResourceSet;
  /** By key. */
  statuses: ReadonlyMap<string, ModelStatus>;
  /** Of the configuration sent to Envoy. */
  version: string;
}

/**
 * The source of Models and Secrets. Everything behind this interface is the same for a folder of manifests and for the Kubernetes
 * API.
 */
export interface Source {
  /** The last complete, valid state; never half a change. */
  current(): ResourceSet;
  /** Reports the outcome of its Models to the source. */
  reportStatuses(report: StatusReport): Promise<void>;
  stop(): Promise<void>;
}

/** A rejection as one line for a log or a terminal. */
export function describeRefusal({ origin, subject, problem, isLastGoodKept }: Refusal): string {
  const where = subject === null ? origin : `${origin}: ${subject}`;
  return `${where}: ${problem}${isLastGoodKept ? "; the last valid version stays in force" : ""}`;
}
