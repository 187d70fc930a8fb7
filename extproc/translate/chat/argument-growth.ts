import { checkCalls } from "../../protocol/answer-bounds.ts";

/** The new part of tool arguments that a server repeats whole in each chunk (profile flag `argumentSnapshots`). */
export interface ArgumentGrowth {
  /** @param key of the call within its answer. @throws GatewayError `upstream_error` for more calls than any answer has. */
  grown(key: string, snapshot: string): string;
}

export function createArgumentGrowth(): ArgumentGrowth {
  const lengths = new Map<string, number>();
  return {
    grown(key, snapshot) {
      const known = lengths.get(key) ?? 0;
      lengths.set(key, Math.max(known, snapshot.length));
      checkCalls(lengths.size);
      return snapshot.slice(known);
    },
  };
}
