import type { AnswerDeps, Answers } from "./answers/answer.ts";
import type { Pepper } from "../ledger/keys.ts";
import type { Events } from "./events.ts";
import type { Limits } from "./limits/limits.ts";
import type { RunDeps } from "./meter/run.ts";

/** All that one request's life depends on; tests replace single members. */
export interface ExchangeDeps extends RunDeps, AnswerDeps {
  limits: Limits;
  events: Events;
  answers: Answers;
  /** HMAC key of the stored key hashes. */
  pepper: Pepper;
  /** UUIDv7 of that moment. */
  newRequestId(nowMs: number): string;
  /** In [0, 1). */
  random(): number;
}
