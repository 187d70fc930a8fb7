import type { Answers } from "./answers/answer.ts";
import type { Events } from "./events.ts";
import type { Credit } from "./meter/credit.ts";
import type { RunDeps } from "./meter/run.ts";
import type { World } from "./world/world.ts";
import type { UsageReport } from "./answers/usage.ts";

/** All that one request's life depends on; tests replace single members. */
export interface ExchangeDeps extends RunDeps {
  world: World;
  credit: Credit;
  events: Events;
  answers: Answers;
  /** HMAC key of the stored key hashes. */
  pepper: Buffer;
  readUsage: UsageReport;
  /** UUIDv7 of that moment. */
  newRequestId(nowMs: number): string;
  /** In [0, 1). */
  random(): number;
}
