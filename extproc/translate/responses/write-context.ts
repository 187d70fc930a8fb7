import type { AskedOfAnswer } from "./read-request.ts";

/** Context for writing an answer. */
export interface WriteContext {
  asked: AskedOfAnswer;
  /** The model name from the client's request. */
  model: string;
  requestId: string;
  nowSeconds: number;
  /** Unix seconds at the time of the call. */
  secondsNow(): number;
}
