import * as z from "zod";
import { describeLabels, type Label } from "../../../contract/labels.ts";
import { INTERFACES } from "../../../contract/protocol.ts";
import { unitsByKind } from "../../../contract/units.ts";
import type { ListedRequest } from "../../../ledger/usage/listed-request.ts";
import { OUTCOMES } from "../../../ledger/settlement/settlement.ts";
import type { UsageSums } from "../../../ledger/usage/sums.ts";
import { showPrices } from "../../money.ts";
import { orOther } from "./or-other.ts";
import { day, keyId, model, moment, projectId, showMoment, showMoney, usd } from "./values.ts";

export const tokens = z.object({
  input: z.int(),
  cached_input: z.int(),
  cache_write: z.int(),
  output: z.int(),
  reasoning: z.int().meta({ description: "Included in `output`" }),
});

const searches = z.int().meta({ description: "Search units of rerank: a query with up to 100 documents" });

const images = z.int().meta({ description: "Generated images" });

const characters = z.int().meta({ description: "Characters of spoken text: Unicode code points" });

const seconds = z.int().meta({ description: "Seconds of transcribed audio" });

export const sumsShape = { requests: z.int(), tokens, searches, images, characters, seconds, amount: usd };

export const rangeQuery = {
  from: day.optional().meta({ description: "First UTC day; default: 30 days up to `to`" }),
  to: day.optional().meta({ description: "Last UTC day; default: today" }),
};

export const filterQuery = {
  project: projectId.optional().meta({ description: "Only keys that are in this project now" }),
  key: keyId.optional(),
  model: model.optional(),
};

export const labelQuery = {
  tag: z
    .string()
    .optional()
    .meta({ description: "Only requests with this tag", examples: ["team=search"] }),
  end_user: z.string().optional().meta({ description: "Only requests of this end user" }),
};

export function showSums(sums: UsageSums) {
  const { requests, searches, images, characters, seconds, chargeNanoUsd } = sums;
  return { requests, tokens: showTokens(sums), searches, images, characters, seconds, amount: showMoney(chargeNanoUsd) };
}

export const listedRequest = z
  .object({
    id: z.string().meta({ description: "`x-request-id` of the response" }),
    attempt: z.int(),
    key_id: keyId,
    model: z.string(),
    interface: orOther(INTERFACES),
    started_at: moment,
    duration_ms: z.int(),
    first_token_ms: z.int().nullable(),
    is_stream: z.boolean(),
    http_status: z.int(),
    outcome: orOther(OUTCOMES),
    is_estimated: z.boolean().meta({ description: "The model server did not report usage, so the gateway counted it." }),
    is_batch: z.boolean().meta({ description: "It belongs to a batch, and is charged the batch price." }),
    tokens,
    searches,
    images,
    characters,
    seconds,
    amount: usd,
    price: z
      .object({
        input: z.string(),
        cached_input: z.string(),
        cache_write: z.string(),
        output: z.string(),
        search: z.string(),
        image: z.string(),
        character: z.string(),
        minute: z.string(),
      })
      .meta({
        description:
          "Prices charged, in USD per million tokens, per thousand searches, per image, per million characters and per minute of audio, as decimal strings",
      }),
    image_terms: z.string().nullable().meta({
      description: "Size and quality that the price of an image is for, such as `1024x1024, high`; null or empty if any",
    }),
    own_key_provider: z.string().nullable().meta({
      description: "The provider whose key the account brought: then `amount` is the fee. null: the service's own was used",
    }),
    price_version: z.int().meta({ description: "Version of the model's prices" }),
    tags: z.record(z.string(), z.string()).meta({ description: "Where the account keeps tags" }),
    end_user: z.string().nullable(),
  })
  .meta({ id: "Request" });

export function showRequest(request: ListedRequest & { labels: readonly Label[] }): z.infer<typeof listedRequest> {
  return {
    id: request.requestId,
    attempt: request.attempt,
    key_id: request.keyId,
    model: request.model,
    interface: request.interface,
    started_at: showMoment(request.startedAt),
    duration_ms: request.durationMs,
    first_token_ms: request.firstTokenMs,
    is_stream: request.isStream,
    http_status: request.httpStatus,
    outcome: request.outcome,
    is_estimated: request.isEstimated,
    is_batch: request.isBatch,
    tokens: showTokens(request),
    ...unitsByKind(request),
    amount: showMoney(request.chargeNanoUsd),
    price: showPrices(request.price, request.interface),
    image_terms: request.unitTerms,
    own_key_provider: request.providerKey,
    price_version: request.priceVersion,
    ...describeLabels(request.labels),
  };
}

function showTokens(
  used: Omit<UsageSums, "requests" | "searches" | "images" | "characters" | "seconds" | "chargeNanoUsd">,
): z.infer<typeof tokens> {
  return {
    input: used.inputTokens,
    cached_input: used.cachedInputTokens,
    cache_write: used.cacheWriteTokens,
    output: used.outputTokens,
    reasoning: used.reasoningTokens,
  };
}
