import * as z from "zod";
import { CAPABILITIES } from "../../../contract/capability.ts";
import { INTERFACES } from "../../../contract/protocol.ts";
import { listModels } from "../../../ledger/models/model-list.ts";
import type { AppDeps } from "../../app-deps.ts";
import { pricePerImage, showPrices } from "../../money.ts";
import { callerOf } from "../caller.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";

const price = z.string().meta({ description: "USD per million tokens, as a decimal string", examples: ["0.30"] });
const searchPrice = z
  .string()
  .meta({ description: "USD per thousand searches of rerank; 0 for other models", examples: ["2.00"] });
const imagePrice = z
  .string()
  .meta({ description: "USD per image, if `image_prices` has no other; 0 for models that make none", examples: ["0.04"] });
const characterPrice = z
  .string()
  .meta({ description: "USD per million characters of speech; 0 for other models", examples: ["15.00"] });
const minutePrice = z
  .string()
  .meta({ description: "USD per minute of transcribed audio; 0 for other models", examples: ["0.006"] });
const imagePrices = z
  .array(z.object({ size: z.string().nullable(), quality: z.string().nullable(), price: z.string() }))
  .meta({ description: "Prices of images by size and quality; null: any. The first that matches counts" });
const listedModel = z
  .object({
    name: z.string(),
    display_name: z.string(),
    description: z.string().nullable(),
    capabilities: z.array(z.enum(CAPABILITIES)).nullable().meta({ description: "null if the administrator has not set one" }),
    deprecated_at: z.iso.datetime().nullable(),
    retires_at: z.iso.datetime().nullable(),
    aliases: z.array(z.string()),
    interfaces: z.array(z.enum(INTERFACES)),
    context_window: z.int().nullable(),
    max_output_tokens: z.int(),
    price: z.object({
      input: price,
      cached_input: price,
      cache_write: price,
      output: price,
      search: searchPrice,
      image: imagePrice,
      character: characterPrice,
      minute: minutePrice,
    }),
    image_prices: imagePrices,
    batch_price: z
      .object({ input: price, cached_input: price, cache_write: price, output: price })
      .nullable()
      .meta({ description: "Of requests in batches; null for models that accept none" }),
  })
  .meta({ id: "Model" });

export function modelApi(api: Api, { database }: AppDeps): void {
  api.get(
    "/models",
    {
      schema: {
        tags: ["Models"],
        summary: "List available models and their current prices",
        response: { 200: z.object({ currency: z.literal("USD"), data: z.array(listedModel) }), ...failures },
      },
    },
    async (request) => {
      callerOf(request);
      const models = await listModels(database, Date.now());
      const data = models.map(({ model, price, batchPrice }) => ({
        name: model.name,
        display_name: model.displayName ?? model.name,
        description: model.description ?? null,
        capabilities: model.capabilities ?? null,
        deprecated_at: timeOf(model.deprecation?.sinceSeconds),
        retires_at: timeOf(model.deprecation?.sunsetSeconds),
        aliases: model.aliases,
        interfaces: model.interfaces,
        context_window: model.contextWindow,
        max_output_tokens: model.maxOutputTokens,
        price: showPrices(price, model.interfaces[0]),
        image_prices: (price.imagePrices ?? []).map(({ size, quality, unitPicoUsd }) => ({
          size,
          quality,
          price: pricePerImage(unitPicoUsd),
        })),
        batch_price: batchPrice === null ? null : tokensOf(showPrices(batchPrice, undefined)),
      }));
      return { currency: "USD" as const, data };
    },
  );
}

function tokensOf({ input, cached_input, cache_write, output }: ReturnType<typeof showPrices>) {
  return { input, cached_input, cache_write, output };
}

function timeOf(seconds: number | undefined): string | null {
  return seconds === undefined ? null : new Date(seconds * 1000).toISOString();
}
