import * as z from "zod";
import { INTERFACES, PROTOCOLS } from "../../contract/protocol.ts";
import { NO_USAGE, type Usage } from "../../contract/usage.ts";
import { chargeNanoUsd, type Price } from "../../ledger/money.ts";
import { OUTCOMES, type Settlement } from "../../ledger/settle.ts";

/** What a record of an attempt says of it whatever becomes of it. */
type Facts = Pick<
  Settlement,
  | "requestId"
  | "attempt"
  | "accountId"
  | "keyId"
  | "model"
  | "interface"
  | "upstreamProtocol"
  | "backend"
  | "priceVersionId"
  | "isStream"
  | "startedAt"
>;

/** What is known of an attempt when its request goes to the upstream. */
export interface StartedRun extends Facts {
  price: Price;
}

/** What a running attempt has used so far. */
export interface Checkpoint {
  requestId: string;
  usage: Usage;
  durationMs: number;
  firstTokenMs: number | null;
  /** Where it is another backend than the one that was asked first. */
  answeredBy?: Pick<Settlement, "backend" | "upstreamProtocol"> | undefined;
}

export type JournalRecord =
  | ({ type: "start" } & StartedRun)
  | ({ type: "checkpoint" } & Checkpoint)
  | { type: "end"; settlement: Settlement };

/**
 * JSON whose values are known by their place, bigints as decimal strings: two records a request are written, and writing
 * the names of their values, too, would take most of the time.
 */
export function encodeRecord(record: JournalRecord): string {
  switch (record.type) {
    case "start": {
      const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd } = record.price;
      const price = [String(inputPicoUsd), String(cachedInputPicoUsd), String(cacheWritePicoUsd), String(outputPicoUsd)];
      return JSON.stringify(["start", factsOf(record), price]);
    }
    case "checkpoint": {
      const { type, ...checkpoint } = record;
      return JSON.stringify([type, checkpoint]);
    }
    case "end": {
      const { usage, isEstimated, chargeNanoUsd, leaseId, httpStatus, outcome, durationMs, firstTokenMs } = record.settlement;
      const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
      const tokens = [inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens];
      const end = [isEstimated, String(chargeNanoUsd), leaseId, httpStatus, outcome, durationMs, firstTokenMs];
      return JSON.stringify(["end", factsOf(record.settlement), tokens, end]);
    }
  }
}

/** In the order of `FACTS`. */
function factsOf(facts: Facts): unknown[] {
  return [
    facts.requestId,
    facts.attempt,
    facts.accountId,
    facts.keyId,
    facts.model,
    facts.interface,
    facts.upstreamProtocol,
    facts.backend,
    String(facts.priceVersionId),
    facts.isStream,
    facts.startedAt.getTime(),
  ];
}

/** @throws ZodError or SyntaxError for what no version of this program has written. */
export function decodeRecord(text: string): JournalRecord {
  return recordSchema.parse(JSON.parse(text));
}

/** What becomes of an attempt whose process died: charged as last noted, for nothing where nothing was. */
export function settleLost({ price, ...started }: StartedRun, checkpoint: Checkpoint | undefined): Settlement {
  const usage = checkpoint?.usage ?? { ...NO_USAGE };
  return {
    ...started,
    ...checkpoint?.answeredBy,
    usage,
    isEstimated: true,
    chargeNanoUsd: chargeNanoUsd(usage, price),
    // The process's leases end with it: the balance pays.
    leaseId: null,
    httpStatus: 500,
    outcome: "lost",
    durationMs: checkpoint?.durationMs ?? 0,
    firstTokenMs: checkpoint?.firstTokenMs ?? null,
  };
}

const bigints = z.string().transform(BigInt);

const FACTS = {
  requestId: z.string(),
  attempt: z.int(),
  accountId: z.string(),
  keyId: z.string(),
  model: z.string(),
  interface: z.enum(INTERFACES),
  upstreamProtocol: z.enum(PROTOCOLS),
  backend: z.string(),
  priceVersionId: bigints,
  isStream: z.boolean(),
  startedAt: z.number().transform((ms) => new Date(ms)),
};
const PRICE = { inputPicoUsd: bigints, cachedInputPicoUsd: bigints, cacheWritePicoUsd: bigints, outputPicoUsd: bigints };
const USAGE = {
  inputTokens: z.int(),
  cachedInputTokens: z.int(),
  cacheWriteTokens: z.int(),
  outputTokens: z.int(),
  reasoningTokens: z.int(),
};
const END = {
  isEstimated: z.boolean(),
  chargeNanoUsd: bigints,
  leaseId: z.string().nullable(),
  httpStatus: z.int(),
  outcome: z.enum(OUTCOMES),
  durationMs: z.number(),
  firstTokenMs: z.number().nullable(),
};
const checkpointSchema = z.object({
  requestId: FACTS.requestId,
  usage: z.strictObject(USAGE),
  durationMs: END.durationMs,
  firstTokenMs: END.firstTokenMs,
  answeredBy: z.object({ backend: FACTS.backend, upstreamProtocol: FACTS.upstreamProtocol }).optional(),
});

const recordSchema: z.ZodType<JournalRecord> = z.union([
  z.tuple([z.literal("start"), byPlace(FACTS), byPlace(PRICE)]).transform(([type, facts, price]) => ({ type, ...facts, price })),
  z.tuple([z.literal("checkpoint"), checkpointSchema]).transform(([type, checkpoint]) => ({ type, ...checkpoint })),
  z
    .tuple([z.literal("end"), byPlace(FACTS), byPlace(USAGE), byPlace(END)])
    .transform(([type, facts, usage, end]) => ({ type, settlement: { ...facts, usage, ...end } })),
]);

/** An array of these values in this order. */
function byPlace<Shape extends z.ZodRawShape>(shape: Shape) {
  const names = Object.keys(shape);
  return z
    .array(z.unknown())
    .length(names.length)
    .transform((values) => Object.fromEntries(names.map((name, place) => [name, values[place]])))
    .pipe(z.strictObject(shape));
}
