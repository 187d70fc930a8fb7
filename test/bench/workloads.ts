import { modelOf, type Pair } from "./pairs.ts";

/** One kind of load. */
export interface Workload {
  name: string;
  isStream: boolean;
  promptBytes: number;
  /** Between two chunks of a stream, ms. */
  gapMs: number;
  connections: number;
  /** Requests of a round. */
  requests: number;
  /** Requests a second at which delay is measured; null where the load itself has a pace. */
  rate: number | null;
}

const CHUNKS = 100;

const closedLoop = { gapMs: 0, connections: 32 };

export const WORKLOADS: readonly Workload[] = [
  // The case that users have.
  {
    name: "500 slow streams at once",
    isStream: true,
    promptBytes: 1024,
    gapMs: 50,
    connections: 500,
    requests: 500,
    rate: null,
  },
  { ...closedLoop, name: "JSON, 1 KB prompt", isStream: false, promptBytes: 1024, requests: 10_000, rate: 150 },
  { ...closedLoop, name: "JSON, 100 KB prompt", isStream: false, promptBytes: 100 * 1024, requests: 4000, rate: 60 },
  { ...closedLoop, name: "stream of 100 chunks, 1 KB prompt", isStream: true, promptBytes: 1024, requests: 4000, rate: 60 },
  {
    ...closedLoop,
    name: "stream of 100 chunks, 100 KB prompt",
    isStream: true,
    promptBytes: 100 * 1024,
    requests: 2500,
    rate: 40,
  },
];

export function bodyOf(workload: Workload, { upstream }: Pair): string {
  const wish = `[[bench chunks=${CHUNKS} gap=${workload.gapMs}ms]]`;
  return JSON.stringify({
    model: modelOf(upstream),
    max_tokens: 1000,
    stream: workload.isStream,
    // With its name each case has a length of its own, by which the floor knows it (floor/main.ts).
    messages: [{ role: "user", content: `${wish} ${workload.name} ${"word ".repeat(workload.promptBytes / 5)}` }],
  });
}

/** What a whole answer ends with: one that was cut counts as a failure. */
export function lastWords({ isStream }: Workload, { client }: Pair): string {
  if (client === "chat") return isStream ? "data: [DONE]" : `"completion_tokens":${CHUNKS}`;
  return isStream ? '"type":"message_stop"' : `"output_tokens":${CHUNKS}`;
}
