import type { ImageTraits } from "../../contract/units.ts";
import type { UnitPrice } from "../../ledger/settlement/settlement.ts";

/** The units of a request, as its tokens below. */
interface UnitMeasure {
  held: number;
  likely: number;
  max: number;
  /** The request tells, whatever its server reports. */
  isKnown?: boolean;
  /** A report of more is charged up to the maximum. */
  isCapped?: boolean;
  /** Our own count is no guess: an answer that merely shows fewer of them does not tell. */
  isMeasured?: boolean;
}

/** What a request of an input interface may have its server read. */
export interface InputMeasure {
  /** Tokens for which credit is held. */
  heldTokens: number;
  /** Our own count, charged if the server reports nothing possible. */
  likelyTokens: number;
  /** A report of more cannot be true. Output comes on top of it. */
  maxTokens: number;
  /** Of an interface that has units (contract/units.ts). */
  units?: UnitMeasure;
  /** Of an interface whose answers have tokens: the most of them, and our own count for each unit of what has no text. */
  output?: { tokens: number; eachTokens?: number };
  /** Of units whose price depends on what they are: the highest price that is possible by what is known of them. */
  unitPriceOf?(made: ImageTraits): UnitPrice;
  /** The answer passes as it comes. */
  isStream?: boolean;
  /** Of the answer, if it is known to be large. */
  answerBytes: number;
  /** What a client without enough credit can do, as the beginning of a sentence. */
  remedy: string;
}
