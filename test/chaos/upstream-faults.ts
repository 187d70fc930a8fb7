import type { ErrorCode } from "../../contract/errors.ts";

/** What can become of a request, as its caller sees it. */
export type Result = "answered" | "refused" | "broken";

/** What a caller may see of a fault while every process of the gateway runs. */
interface Expected {
  results: readonly Result[];
  /** Where it is refused. */
  codes?: readonly ErrorCode[];
}

export interface UpstreamFault {
  name: string;
  /** How often it comes, beside the others. */
  weight: number;
  whole: Expected;
  stream: Expected;
  /** It shows before the first byte of an answer: another backend, where there is one, answers instead. */
  isBeforeAnswer: boolean;
  /** It sends what cannot be read. Where client and server speak the same, a stream passes as it is. */
  isGarbage?: boolean;
}

const answered: Expected = { results: ["answered"] };
const refused = (...codes: ErrorCode[]): Expected => ({ results: ["refused"], codes });
const broken: Expected = { results: ["broken"] };

/** As nothing has come of an answer yet, whole or streamed. */
const before = (name: string, expected: Expected, weight = 1): UpstreamFault => ({
  name,
  weight,
  whole: expected,
  stream: expected,
  isBeforeAnswer: true,
});
const within = (name: string, whole: Expected, stream: Expected, weight = 1): UpstreamFault => ({
  name,
  weight,
  whole,
  stream,
  isBeforeAnswer: false,
});

/** What a model server does wrong, and what callers may see of it (S22). The first one is none. */
export const UPSTREAM_FAULTS: readonly UpstreamFault[] = [
  within("none", answered, answered, 24),
  within("slow drip", answered, answered, 2),
  within("huge answer", answered, answered, 0.4),
  within("answer beyond all bounds", refused("upstream_error"), answered, 0.05),
  before("connection refused", refused("upstream_unavailable")),
  before("reset before the headers", refused("upstream_unavailable", "upstream_error")),
  before("bytes that are not HTTP", refused("upstream_error", "upstream_unavailable")),
  before("stall before the headers", refused("upstream_timeout"), 0.3),
  before("429", refused("rate_limited")),
  before("429 with retry-after", refused("rate_limited")),
  before("500", refused("upstream_error")),
  before("503", refused("upstream_unavailable", "overloaded")),
  before("503 with retry-after", refused("upstream_unavailable", "overloaded")),
  within("stall in the answer", refused("upstream_timeout"), broken, 0.3),
  within("reset in the answer", refused("upstream_error"), { results: ["broken", "refused"], codes: ["upstream_error"] }),
  within("truncated", refused("upstream_error", "upstream_unavailable"), broken),
  { ...within("garbage in the answer", refused("upstream_error"), broken), isGarbage: true },
  within("empty answer", refused("upstream_error"), { results: ["refused", "broken"], codes: ["upstream_error"] }),
  within("wrong content type", answered, { results: ["answered", "refused"], codes: ["upstream_error"] }),
  within("200 with an error", refused("upstream_error", "rate_limited", "upstream_unavailable", "internal_error"), {
    results: ["refused", "broken"],
    codes: ["upstream_error", "upstream_unavailable"],
  }),
  within("compressed although not asked to", answered, refused("upstream_error")),
];

export const NO_FAULT = "none";
export const HUGE = "huge answer";
export const SLOW = "slow drip";
