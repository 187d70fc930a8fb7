import type { ModelResource } from "../model/resource.ts";
import type { ModelStatus } from "../model/status.ts";

/** A Model with what only its source knows about it. */
export interface SourcedModel {
  /** `namespace/name`. */
  key: string;
  /** Where it is, for people: a file and line, or namespace and name. */
  origin: string;
  /** Unix seconds. */
  createdSeconds: number;
  resource: ModelResource;
  /** Names under which it was served when it was last looked at, by its status; none if the source keeps no status. */
  servedNames?: readonly string[];
}

/** Everything that there is to serve from, as one value. */
export interface ResourceSet {
  /** Oldest first: where two claim one name, the earlier keeps it. */
  models: readonly SourcedModel[];
  /** Values by key, by `namespace/name` of the Secret. Never to be logged. */
  secrets: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Secrets that the source may not read, by the same names, and why. */
  forbiddenSecrets?: ReadonlyMap<string, string>;
}

/** A resource that the source would not take, or a file that it could not read. */
export interface Refusal {
  /** File or `namespace/name`. */
  origin: string;
  /** Line in the file, from 1; null where there is none. */
  line: number | null;
  /** `Model modelx-chat`; null where not even that is readable. */
  subject: string | null;
  /** Field and remedy, in words. */
  problem: string;
  /** Does an earlier version of it go on being served? */
  isLastGoodKept: boolean;
}

interface StatusReport {
  /** What the statuses are about: `current()` may have moved on. */
  set: ResourceSet;
  /** By key. */
  statuses: ReadonlyMap<string, ModelStatus>;
  /** Of the configuration that Envoy was given. */
  version: string;
}

/**
 * Where Models and Secrets come from. Everything behind this interface is the same for a folder of manifests and
 * for the Kubernetes API.
 */
export interface Source {
  /** The last complete, good state; never half a change. */
  current(): ResourceSet;
  /** Tells the source what became of its Models. */
  reportStatuses(report: StatusReport): Promise<void>;
  stop(): Promise<void>;
}

/** A refusal as one line for a log or a terminal. */
export function describeRefusal({ origin, subject, problem, isLastGoodKept }: Refusal): string {
  const where = subject === null ? origin : `${origin}: ${subject}`;
  return `${where}: ${problem}${isLastGoodKept ? "; the last valid version stays in force" : ""}`;
}
