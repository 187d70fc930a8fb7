import * as z from "zod";
import { LABEL_BOUNDS, type Label } from "../../contract/labels.ts";
import type { ProviderKeyFee } from "../../contract/provider-key.ts";
import { INTERFACES, PROTOCOLS } from "../../contract/protocol.ts";
import { NO_USAGE, totalTokensOf, type Usage } from "../../contract/usage.ts";
import { chargeNanoUsd, type Price } from "../../ledger/money.ts";
import { attemptOf, OUTCOMES, type Settlement } from "../../ledger/settlement/settlement.ts";

/** Facts in every record of an attempt. */
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
  | "isBatch"
>;

/** Facts about an attempt when its request is sent upstream. */
export interface StartedRun extends Facts {
  price: Price;
  /** As in Settlement. With the fee, in a record of its own. */
  providerKey?: string | undefined;
  /** In a record of their own, which may be lost without the others. */
  labels?: readonly Label[] | undefined;
}

/** Usage of a running attempt so far. */
export interface Checkpoint {
  requestId: string;
  usage: Usage;
  durationMs: number;
  firstTokenMs: number | null;
  /** If another backend than the first one answers. */
  answeredBy?: Pick<Settlement, "backend" | "upstreamProtocol"> | undefined;
}

/** Each record except an early version's checkpoint is enough to charge its attempt without the others. */
export type JournalRecord =
  | { type: "start"; run: StartedRun }
  | { type: "checkpoint"; checkpoint: Checkpoint; run: StartedRun | undefined }
  | { type: "end"; settlement: Settlement }
  | { type: "labels"; requestId: string; labels: Label[] }
  | { type: "provider_key"; requestId: string; providerKey: string; price: Price };

/**
 * Records are JSON whose values are known by their position, bigints as decimal strings: at least two are written for each
 * request, and writing the names as well would take most of the time.
 * @returns `[facts,price]`, which goes into the start record and into each checkpoint.
 */
export function encodeRun(run: StartedRun): string {
  const { fee } = run.price;
  return JSON.stringify([factsOf(run), pricesOf(fee === undefined ? run.price : shareOf(run.price, fee))]);
}

function pricesOf({ inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd, unitPicoUsd }: Price): string[] {
  const prices = [String(inputPicoUsd), String(cachedInputPicoUsd), String(cacheWritePicoUsd), String(outputPicoUsd)];
  // Versions before 0060-units.sql know no units, and read the records of all other requests.
  if (unitPicoUsd > 0n) prices.push(String(unitPicoUsd));
  return prices;
}

/**
 * The prices whose sum is a fee's share of what the request would cost, for versions that know no fees: they charge a lost request
 * that was sent with the account's own key no more than it owes, rounding aside.
 */
function shareOf(price: Price, { millionths }: ProviderKeyFee): Price {
  const part = (picoUsd: bigint) => (picoUsd * millionths) / 1_000_000n;
  return {
    inputPicoUsd: part(price.inputPicoUsd),
    cachedInputPicoUsd: part(price.cachedInputPicoUsd),
    cacheWritePicoUsd: part(price.cacheWritePicoUsd),
    outputPicoUsd: part(price.outputPicoUsd),
    unitPicoUsd: part(price.unitPicoUsd),
  };
}

/** Beside the start record: versions before 0090-provider-keys.sql count it as damage, and charge the request by its other records. */
export function encodeProviderKey(requestId: string, providerKey: string, price: Price): string {
  const { requestPicoUsd, millionths } = price.fee ?? NO_FEE;
  return JSON.stringify(["provider_key", requestId, providerKey, pricesOf(price), [String(requestPicoUsd), String(millionths)]]);
}

const NO_FEE: ProviderKeyFee = { requestPicoUsd: 0n, millionths: 0n };

export function encodeStart(encodedRun: string): string {
  return `["start",${encodedRun.slice(1)}`;
}

/** Beside the start record: versions before 1.0 count it as damage, and charge the request by its other records. */
export function encodeLabels(requestId: string, labels: readonly Label[]): string {
  return JSON.stringify(["labels", requestId, labels.map(({ dimension, value }) => [dimension, value])]);
}

/** Repeats the start record: if that one is damaged, this one can still be charged. */
export function encodeCheckpoint(checkpoint: Checkpoint, encodedRun: string): string {
  return `["checkpoint",${JSON.stringify(checkpoint).slice(0, -1)},"run":${encodedRun}}]`;
}

export function encodeEnd(settlement: Settlement): string {
  const { usage, unitPrice, isEstimated, chargeNanoUsd, leaseId, httpStatus, outcome, durationMs, firstTokenMs } = settlement;
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, units } = usage;
  const used = [inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens];
  if (units !== undefined) used.push(units);
  const end: unknown[] = [isEstimated, String(chargeNanoUsd), leaseId, httpStatus, outcome, durationMs, firstTokenMs];
  if (unitPrice !== undefined) end.push([String(unitPrice.picoUsd), unitPrice.terms]);
  return JSON.stringify(["end", factsOf(settlement), used, end]);
}

/** In the order of `FACTS`. */
function factsOf(facts: Facts): unknown[] {
  const values = [
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
  // Versions before 0088-batch-requests.sql know no batches, and read the records of all other requests.
  if (facts.isBatch === true) values.push(true);
  return values;
}

/** @throws ZodError or SyntaxError for anything that no version of this program has written, and for impossible values. */
export function decodeRecord(text: string): JournalRecord {
  return recordSchema.parse(JSON.parse(text));
}

/** The outcome of an attempt whose process died: charged as last recorded, or free without a record. */
export function settleLost({ price, ...started }: StartedRun, checkpoint: Checkpoint | undefined): Settlement {
  const usage = checkpoint?.usage ?? { ...NO_USAGE };
  // A fee is owed for an answer, and without usage there was none.
  const charge = { outcome: "lost", chargeNanoUsd: isNothing(usage) ? 0n : chargeNanoUsd(usage, price) } as const;
  return {
    ...started,
    ...checkpoint?.answeredBy,
    ...charge,
    attempt: attemptOf({ ...started, ...charge }),
    usage,
    isEstimated: true,
    // The process's leases end with it: the balance pays.
    leaseId: null,
    httpStatus: 500,
    durationMs: checkpoint?.durationMs ?? 0,
    firstTokenMs: checkpoint?.firstTokenMs ?? null,
  };
}

function isNothing(usage: Usage): boolean {
  return totalTokensOf(usage) === 0 && (usage.units ?? 0) === 0;
}

/** Valid bigints in Postgres, from 0 up. */
const wholeNumber = z
  .string()
  .regex(/^\d{1,19}$/)
  .transform(BigInt)
  .refine((value) => value < 2n ** 63n);
/** No request has a trillion tokens. A charge too large for Postgres is set aside, and delays no other (settler.ts). */
const tokens = z.int().nonnegative().max(1e12);
const MAX_TIME_MS = 8.64e15;

const FACTS = {
  requestId: z.string().min(1),
  attempt: z.int().positive(),
  accountId: z.string(),
  keyId: z.string(),
  model: z.string(),
  interface: z.enum(INTERFACES),
  upstreamProtocol: z.enum(PROTOCOLS),
  backend: z.string(),
  priceVersionId: wholeNumber,
  isStream: z.boolean(),
  startedAt: z
    .number()
    .min(-MAX_TIME_MS)
    .max(MAX_TIME_MS)
    .transform((ms) => new Date(ms)),
  /** Absent for requests of no batch. */
  isBatch: z.boolean().optional(),
};
const PRICE = {
  inputPicoUsd: wholeNumber,
  cachedInputPicoUsd: wholeNumber,
  cacheWritePicoUsd: wholeNumber,
  outputPicoUsd: wholeNumber,
  /** Absent in records of requests without units. */
  unitPicoUsd: wholeNumber.default(0n),
};
const FEE = { requestPicoUsd: wholeNumber, millionths: wholeNumber };
const USAGE = {
  inputTokens: tokens,
  cachedInputTokens: tokens,
  cacheWriteTokens: tokens,
  outputTokens: tokens,
  reasoningTokens: tokens,
  /** Absent if there are none. */
  units: z.int().nonnegative().max(1e6).optional(),
};
const END = {
  isEstimated: z.boolean(),
  chargeNanoUsd: wholeNumber,
  leaseId: z.string().nullable(),
  httpStatus: z.int(),
  outcome: z.enum(OUTCOMES),
  durationMs: z.number(),
  firstTokenMs: z.number().nullable(),
  /** Absent for units of one price. */
  unitPrice: z
    .tuple([wholeNumber, z.string().max(256)])
    .transform(([picoUsd, terms]) => ({ picoUsd, terms }))
    .optional(),
};
const runSchema = z.tuple([byPosition(FACTS, 1), byPosition(PRICE, 1)]).transform(([facts, price]) => ({ ...facts, price }));
const checkpointSchema = z
  .object({
    requestId: FACTS.requestId,
    usage: z.strictObject(USAGE),
    durationMs: END.durationMs,
    firstTokenMs: END.firstTokenMs,
    answeredBy: z.object({ backend: FACTS.backend, upstreamProtocol: FACTS.upstreamProtocol }).optional(),
    run: runSchema.optional(),
  })
  .refine(({ requestId, run }) => run === undefined || run.requestId === requestId);

/** Twice the length that requests may have, for versions with wider bounds; what a disk has changed is not kept. */
const labelText = z
  .string()
  .min(1)
  .max(2 * LABEL_BOUNDS.value)
  .regex(/^[^\0]*$/);
const labelSchema = z.tuple([labelText, labelText]).transform(([dimension, value]): Label => ({ dimension, value }));

const recordSchema: z.ZodType<JournalRecord> = z.union([
  z
    .tuple([z.literal("start"), byPosition(FACTS, 1), byPosition(PRICE, 1)])
    .transform(([type, facts, price]) => ({ type, run: { ...facts, price } })),
  z.tuple([z.literal("checkpoint"), checkpointSchema]).transform(([type, { run, ...checkpoint }]) => ({ type, checkpoint, run })),
  z
    .tuple([z.literal("end"), byPosition(FACTS, 1), byPosition(USAGE, 1), byPosition(END, 1)])
    .transform(([type, facts, usage, end]) => ({ type, settlement: { ...facts, usage, ...end } })),
  z
    .tuple([z.literal("provider_key"), FACTS.requestId, z.string().max(256), byPosition(PRICE, 1), byPosition(FEE)])
    .transform(([type, requestId, providerKey, price, fee]) => ({ type, requestId, providerKey, price: { ...price, fee } })),
  z
    .tuple([z.literal("labels"), FACTS.requestId, z.array(labelSchema).max(4 * LABEL_BOUNDS.tagsOfRequest)])
    .transform(([type, requestId, labels]) => ({ type, requestId, labels })),
]);

/** An array of these values in this order. @param optional how many at its end may be absent. */
function byPosition<Shape extends z.ZodRawShape>(shape: Shape, optional = 0) {
  const names = Object.keys(shape);
  return z
    .array(z.unknown())
    .min(names.length - optional)
    .max(names.length)
    .transform((values) => Object.fromEntries(values.map((value, position) => [names[position], value])))
    .pipe(z.strictObject(shape));
}
