import * as z from "zod";
import { INTERFACES, PROTOCOLS } from "../../contract/protocol.ts";
import { NO_USAGE, type Usage } from "../../contract/usage.ts";
import { chargeNanoUsd, type Price } from "../../ledger/money.ts";
import type { Settlement } from "../../ledger/settle.ts";

/** What is known of an attempt when its request goes to the upstream. */
export interface StartedRun extends Pick<
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
> {
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

/** JSON with bigints as decimal strings. Twice a request: a replacer that sees every value would take most of the time. */
export function encodeRecord(record: JournalRecord): string {
  switch (record.type) {
    case "start":
      return JSON.stringify({ ...record, priceVersionId: String(record.priceVersionId), price: encodePrice(record.price) });
    case "checkpoint":
      return JSON.stringify(record);
    case "end": {
      const { settlement } = record;
      const [priceVersionId, chargeNanoUsd] = [String(settlement.priceVersionId), String(settlement.chargeNanoUsd)];
      return JSON.stringify({ type: "end", settlement: { ...settlement, priceVersionId, chargeNanoUsd } });
    }
  }
}

function encodePrice({ inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd }: Price): object {
  return {
    inputPicoUsd: String(inputPicoUsd),
    cachedInputPicoUsd: String(cachedInputPicoUsd),
    cacheWritePicoUsd: String(cacheWritePicoUsd),
    outputPicoUsd: String(outputPicoUsd),
  };
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
const usageSchema = z.strictObject({
  inputTokens: z.int(),
  cachedInputTokens: z.int(),
  cacheWriteTokens: z.int(),
  outputTokens: z.int(),
  reasoningTokens: z.int(),
});
const startShape = {
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
  startedAt: z.string().transform((text) => new Date(text)),
};

const recordSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("start"),
    ...startShape,
    price: z.object({
      inputPicoUsd: bigints,
      cachedInputPicoUsd: bigints,
      cacheWritePicoUsd: bigints,
      outputPicoUsd: bigints,
    }),
  }),
  z.object({
    type: z.literal("checkpoint"),
    requestId: z.string(),
    usage: usageSchema,
    durationMs: z.number(),
    firstTokenMs: z.number().nullable(),
    answeredBy: z.object({ backend: startShape.backend, upstreamProtocol: startShape.upstreamProtocol }).optional(),
  }),
  z.object({
    type: z.literal("end"),
    settlement: z.object({
      ...startShape,
      usage: usageSchema,
      isEstimated: z.boolean(),
      chargeNanoUsd: bigints,
      leaseId: z.string().nullable(),
      httpStatus: z.int(),
      outcome: z.enum(["complete", "truncated", "failed", "aborted", "stopped", "lost"]),
      durationMs: z.number(),
      firstTokenMs: z.number().nullable(),
    }),
  }),
]);
