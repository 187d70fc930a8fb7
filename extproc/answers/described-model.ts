import type { Capability } from "../../contract/capability.ts";
import { isInputOnly, providersOf, type CatalogueModel } from "../../contract/catalogue.ts";
import { CLIENT_PATHS, type Interface } from "../../contract/protocol.ts";
import type { ProviderKeyFee } from "../../contract/provider-key.ts";
import { batchPriceOf, type BatchPrice } from "../../ledger/models/batch-price.ts";
import { imagePriceOf } from "../../ledger/models/image-price.ts";
import { formatPercent, formatPicoUsd, type Price } from "../../ledger/money.ts";

interface Described extends CatalogueModel {
  /** At the time of the request. */
  price: Price & { batch?: BatchPrice | null; providerKeyFee?: ProviderKeyFee | null };
}

/** OpenAI's four fields, and those that other gateways add to them: `pricing` and lengths are OpenRouter's. */
export function describeForChat(model: Described, nowMs: number) {
  const { displayName, description, capabilities, contextWindow, maxOutputTokens } = model;
  return {
    id: model.name,
    object: "model" as const,
    created: model.createdSeconds,
    owned_by: "model-gateway",
    ...(displayName === undefined ? {} : { name: displayName }),
    ...(description === undefined ? {} : { description }),
    ...(contextWindow === null ? {} : { context_length: contextWindow }),
    ...(isInputOnly(model) ? {} : { max_completion_tokens: maxOutputTokens }),
    ...(capabilities === undefined ? {} : { capabilities }),
    ...describeTerms(model),
    ...(model.deprecation === undefined ? {} : describeLifecycle(model, nowMs)),
  };
}

/** All of Anthropic's fields, and our additional ones. */
export function describeForMessages(model: Described, nowMs: number) {
  return {
    type: "model" as const,
    id: model.name,
    display_name: model.displayName ?? model.name,
    ...(model.description === undefined ? {} : { description: model.description }),
    created_at: timeOf(model.createdSeconds),
    max_input_tokens: model.contextWindow,
    max_tokens: model.maxOutputTokens,
    capabilities: model.capabilities === undefined ? null : describeCapabilities(model, new Set(model.capabilities)),
    ...describeLifecycle(model, nowMs),
    line: null,
    ...describeTerms(model),
  };
}

function describeLifecycle({ deprecation }: Described, nowMs: number) {
  const { sinceSeconds, sunsetSeconds } = deprecation ?? {};
  const isDeprecated = deprecation !== undefined && (sinceSeconds ?? 0) * 1000 <= nowMs;
  return {
    lifecycle: isDeprecated ? ("deprecated" as const) : ("active" as const),
    deprecated_at: isDeprecated && sinceSeconds !== undefined ? timeOf(sinceSeconds) : null,
    retires_at: isDeprecated && sunsetSeconds !== undefined ? timeOf(sunsetSeconds) : null,
  };
}

/** `search`, `image`, `character` and `second` are the prices of one, where a Model has them; that of an image is the highest. */
function describeTerms(model: Described) {
  const { price, interfaces, takesBatches } = model;
  return {
    pricing: {
      ...describeTokens(price),
      ...describeUnits({ price, interfaces }),
    },
    ...(takesBatches === true ? { batch_pricing: describeTokens(batchPriceOf(price, price.batch ?? null)) } : {}),
    ...describeFee(providersOf(model), price.providerKeyFee ?? null),
    supported_endpoints: interfaces.map((each) => CLIENT_PATHS[each]),
  };
}

/** What accounts pay that have brought their own key for one of the providers. */
function describeFee(providers: readonly string[], fee: ProviderKeyFee | null) {
  if (fee === null || providers.length === 0) return {};
  const { requestPicoUsd, millionths } = fee;
  return {
    provider_key_pricing: { providers, per_request: formatPicoUsd(requestPicoUsd), percent: formatPercent(millionths) },
  };
}

function describeTokens({ inputPicoUsd, outputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd }: Price) {
  return {
    prompt: formatPicoUsd(inputPicoUsd),
    completion: formatPicoUsd(outputPicoUsd),
    input_cache_read: formatPicoUsd(cachedInputPicoUsd),
    input_cache_write: formatPicoUsd(cacheWritePicoUsd),
  };
}

function describeUnits({ price, interfaces }: Pick<Described, "price" | "interfaces">) {
  const isImages = interfaces.includes("image_generation");
  const picoUsd = isImages ? imagePriceOf(price, { size: null, quality: null }).picoUsd : price.unitPicoUsd;
  if (picoUsd === 0n) return {};
  const [name = "search"] = interfaces.map((each) => UNIT_PRICES[each]).filter((each) => each !== undefined);
  return { [name]: formatPicoUsd(picoUsd) };
}

const UNIT_PRICES: Readonly<Partial<Record<Interface, string>>> = {
  image_generation: "image",
  speech: "character",
  transcription: "second",
};

/** Anthropic lists every capability that it knows; those that a Model cannot state do not exist in the gateway. */
function describeCapabilities({ takesBatches }: Described, stated: ReadonlySet<Capability>) {
  const reasoning = { supported: stated.has("reasoning") };
  return {
    batch: { supported: takesBatches === true },
    citations: NO,
    code_execution: NO,
    context_management: { ...NO, clear_thinking_20251015: NO, clear_tool_uses_20250919: NO, compact_20260112: NO },
    effort: { ...reasoning, low: reasoning, medium: reasoning, high: reasoning, xhigh: reasoning, max: reasoning },
    image_input: { supported: stated.has("images") },
    pdf_input: { supported: stated.has("files") },
    server_tools: { ...NO, code_execution: NO, web_search: NO },
    structured_outputs: { supported: stated.has("structured_outputs") },
    thinking: {
      ...reasoning,
      types: { adaptive: reasoning, between_tools: NO, disabled: { supported: true }, enabled: reasoning },
    },
  };
}

const NO = { supported: false } as const;

function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
