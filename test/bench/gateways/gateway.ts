import type { Pair } from "../pairs.ts";

/** Something that stands between a client and the model server, with what the bench has to know of it. */
export interface Gateway {
  readonly name: string;
  /** Where a request of this pair goes, and with which headers. */
  target(pair: Pair): { url: string; headers: Readonly<Record<string, string>> };
  /** Ids of its processes, by part. */
  readonly parts: Readonly<Record<string, number>>;
  /** Waits until nothing of the requests that are over is left to do. */
  settled(): Promise<void>;
  /** Longest delay of its event loop since the last call, ms, where it tells. */
  loopDelayMs?(): Promise<number>;
  stop(): Promise<void>;
}
