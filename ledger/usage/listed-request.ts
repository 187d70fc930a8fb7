import * as z from "zod";
import { INTERFACES, type Interface } from "../../contract/protocol.ts";
import type { ProviderKeyFee } from "../../contract/provider-key.ts";
import type { Price } from "../money.ts";
import { batchPriceColumn, batchPriceOf, type BatchPrice } from "../models/batch-price.ts";
import {
  PROVIDER_KEY_FEE,
  priceAt,
  providerKeyFeeColumn,
  SCHEDULE,
  scheduleColumn,
  type PriceRule,
} from "../models/price-schedule.ts";
import { knownOrOther, type OrOther } from "../postgres/known-or-other.ts";
import { OUTCOMES, type Outcome } from "../settlement/settlement.ts";
import { wholeNumber } from "./sums.ts";

/** One attempt as its account's page shows it (S27). */
export interface ListedRequest {
  requestId: string;
  attempt: number;
  keyId: string;
  model: string;
  interface: OrOther<Interface>;
  startedAt: Date;
  durationMs: number;
  firstTokenMs: number | null;
  isStream: boolean;
  httpStatus: number;
  outcome: OrOther<Outcome>;
  isEstimated: boolean;
  /** It belongs to a batch. */
  isBatch: boolean;
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  /** What the interface counts beside tokens (contract/units.ts). */
  units: number;
  /** Why a unit had this price: "1024x1024, high"; null for units of one price. */
  unitTerms: string | null;
  /** The provider whose key the account brought; null: the gateway's was used. */
  providerKey: string | null;
  /** With a provider key, the fee. */
  chargeNanoUsd: bigint;
  /** The price that was charged, and its version among the model's prices. */
  price: Price;
  priceVersion: number;
  /** Of the same version, for requests with provider keys; null: the model took none. */
  providerKeyFee: ProviderKeyFee | null;
}

export type ListedRow = ListedRequest & {
  schedule: PriceRule[];
  batch: BatchPrice | null;
  chargedUnitPicoUsd: bigint | null;
};

export function asCharged({ schedule, batch, chargedUnitPicoUsd, ...row }: ListedRow): ListedRequest {
  const inForce = priceAt({ price: row.price, schedule }, row.startedAt.getTime());
  const price = row.isBatch ? batchPriceOf(inForce, batch) : inForce;
  return { ...row, price: { ...price, unitPicoUsd: chargedUnitPicoUsd ?? price.unitPicoUsd } };
}

/** The end of a statement whose rows of usage_event are `page`. */
export const SELECT_PAGE = `
  SELECT request_id AS "requestId", attempt, key_id AS "keyId", page.model, interface, started_at AS "startedAt",
    duration_ms AS "durationMs", first_token_ms AS "firstTokenMs", is_stream AS "isStream", http_status AS "httpStatus", outcome,
    is_estimated AS "isEstimated", is_batch AS "isBatch", input_tokens AS "inputTokens", cached_input_tokens AS "cachedInputTokens",
    cache_write_tokens AS "cacheWriteTokens", output_tokens AS "outputTokens", reasoning_tokens AS "reasoningTokens", units,
    charged_unit_pico_usd AS "chargedUnitPicoUsd", unit_terms AS "unitTerms", provider_key AS "providerKey",
    charge_nano_usd AS "chargeNanoUsd", input_pico_usd AS "inputPicoUsd", cached_input_pico_usd AS "cachedInputPicoUsd",
    cache_write_pico_usd AS "cacheWritePicoUsd", output_pico_usd AS "outputPicoUsd",
    unit_pico_usd AS "unitPicoUsd", ${SCHEDULE}, batch, ${PROVIDER_KEY_FEE}, version AS "priceVersion"
  FROM page JOIN price_version ON price_version.id = price_version_id ORDER BY request_id DESC, attempt DESC`;

export const listedRow = z
  .strictObject({
    requestId: z.string(),
    attempt: z.int(),
    keyId: z.string(),
    model: z.string(),
    interface: knownOrOther(INTERFACES),
    startedAt: z.date(),
    durationMs: z.int(),
    firstTokenMs: z.int().nullable(),
    isStream: z.boolean(),
    httpStatus: z.int(),
    outcome: knownOrOther(OUTCOMES),
    isEstimated: z.boolean(),
    isBatch: z.boolean(),
    inputTokens: wholeNumber,
    cachedInputTokens: wholeNumber,
    cacheWriteTokens: wholeNumber,
    outputTokens: wholeNumber,
    reasoningTokens: wholeNumber,
    units: wholeNumber,
    chargedUnitPicoUsd: z.bigint().nullable(),
    unitTerms: z.string().nullable(),
    providerKey: z.string().nullable(),
    chargeNanoUsd: z.bigint(),
    inputPicoUsd: z.bigint(),
    cachedInputPicoUsd: z.bigint(),
    cacheWritePicoUsd: z.bigint(),
    outputPicoUsd: z.bigint(),
    unitPicoUsd: z.bigint(),
    schedule: scheduleColumn,
    batch: batchPriceColumn,
    providerKeyFee: providerKeyFeeColumn,
    priceVersion: z.int(),
  })
  .transform(({ inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd, unitPicoUsd, ...row }) => ({
    ...row,
    price: { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd, unitPicoUsd },
  }));
