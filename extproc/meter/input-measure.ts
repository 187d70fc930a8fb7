/** The units of a request, as its tokens below. */
interface UnitMeasure {
  held: number;
  likely: number;
  max: number;
}

/** What a request of an input interface may have its server read. */
export interface InputMeasure {
  /** Tokens for which credit is held. */
  heldTokens: number;
  /** Our own count, charged if the server reports nothing possible. */
  likelyTokens: number;
  /** A report of more cannot be true. */
  maxTokens: number;
  /** Of an interface that has units (contract/units.ts). */
  units?: UnitMeasure;
  /** Of the answer, if it is known to be large. */
  answerBytes: number;
  /** What a client without enough credit can do, as the beginning of a sentence. */
  remedy: string;
}
