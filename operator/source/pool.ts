import type { ServerAddress } from "../address/google.ts";

/** An InferencePool as a source has read it, with what it refers to. */
export type SourcedPool =
  | { kind: "found"; pool: InferencePool }
  | {
      kind: "missing";
      reason: "PoolNotFound" | "PoolForbidden" | "PoolInvalid" | "PoolUnreadable";
      /** For people. */
      message: string;
    };

interface InferencePool {
  /** Addresses of its ready pods, each with each of its ports. */
  members: readonly ServerAddress[];
  isHttp2: boolean;
  /** The endpoint picker's Service. */
  picker: ServerAddress & { failsOpen: boolean };
}
