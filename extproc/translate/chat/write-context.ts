import type { AskedOfAnswer } from "./read-request.ts";

/** What the writing of an answer must know. */
export interface WriteContext {
  asked: AskedOfAnswer;
  /** The name that the client asked for. */
  model: string;
  requestId: string;
  nowSeconds: number;
}
