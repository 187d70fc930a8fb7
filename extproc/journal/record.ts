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

/** In the order of `factsSchema`. */
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

const factsSchema = z
  .tuple([
    z.string(),
    z.int(),
    z.string(),
    z.string(),
    z.string(),
    z.enum(INTERFACES),
    z.enum(PROTOCOLS),
    z.string(),
    bigints,
    z.boolean(),
    z.number(),
  ])
  .transform(
    ([
      requestId,
      attempt,
      accountId,
      keyId,
      model,
      face,
      upstreamProtocol,
      backend,
      priceVersionId,
      isStream,
      startedMs,
    ]): Facts => ({
      requestId,
      attempt,
      accountId,
      keyId,
      model,
      interface: face,
      upstreamProtocol,
      backend,
      priceVersionId,
      isStream,
      startedAt: new Date(startedMs),
    }),
  );

const priceSchema = z
  .tuple([bigints, bigints, bigints, bigints])
  .transform(([inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd]): Price => ({
    inputPicoUsd,
    cachedInputPicoUsd,
    cacheWritePicoUsd,
    outputPicoUsd,
  }));

const tokensSchema = z
  .tuple([z.int(), z.int(), z.int(), z.int(), z.int()])
  .transform(([inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens]): Usage => ({
    inputTokens,
    cachedInputTokens,
    cacheWriteTokens,
    outputTokens,
    reasoningTokens,
  }));

const endSchema = z
  .tuple([z.boolean(), bigints, z.string().nullable(), z.int(), z.enum(OUTCOMES), z.number(), z.number().nullable()])
  .transform(([isEstimated, chargeNanoUsd, leaseId, httpStatus, outcome, durationMs, firstTokenMs]) => ({
    isEstimated,
    chargeNanoUsd,
    leaseId,
    httpStatus,
    outcome,
    durationMs,
    firstTokenMs,
  }));

const checkpointSchema = z.object({
  requestId: z.string(),
  usage: z.strictObject({
    inputTokens: z.int(),
    cachedInputTokens: z.int(),
    cacheWriteTokens: z.int(),
    outputTokens: z.int(),
    reasoningTokens: z.int(),
  }),
  durationMs: z.number(),
  firstTokenMs: z.number().nullable(),
  answeredBy: z.object({ backend: z.string(), upstreamProtocol: z.enum(PROTOCOLS) }).optional(),
});

const recordSchema: z.ZodType<JournalRecord> = z.union([
  z.tuple([z.literal("start"), factsSchema, priceSchema]).transform(([type, facts, price]) => ({ type, ...facts, price })),
  z.tuple([z.literal("checkpoint"), checkpointSchema]).transform(([type, checkpoint]) => ({ type, ...checkpoint })),
  z
    .tuple([z.literal("end"), factsSchema, tokensSchema, endSchema])
    .transform(([type, facts, usage, end]) => ({ type, settlement: { ...facts, usage, ...end } })),
]);
