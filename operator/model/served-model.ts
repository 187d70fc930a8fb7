import type { Backend, CatalogueModel } from "../../contract/catalogue.ts";
import type { Platform } from "../../contract/platform.ts";
import { isInputInterface, type InputInterface } from "../../contract/protocol.ts";
import { PROFILES, type Profile, type ProfileName } from "../../contract/profile.ts";
import type { ProviderKeyFee } from "../../contract/provider-key.ts";
import type { ImagePrice, Price } from "../../ledger/money.ts";
import type { BatchPrice } from "../../ledger/models/batch-price.ts";
import type { PriceRule } from "../../ledger/models/price-schedule.ts";
import { offeredServer, type OfferedServer } from "../provider-keys/offered-server.ts";
import type { SourcedModel } from "../source/source.ts";
import { clustersOf, type Endpoint } from "../xds/endpoint.ts";
import type { SecretContent } from "../xds/secret.ts";
import { INTERFACE_OF, PROTOCOL_OF, type ResolvedBackend } from "./backend.ts";
import type { BackendResource, INTERFACES } from "./backend-resource.ts";
import { toGuardrail } from "./guardrail.ts";
import { POOL_PATHS } from "./pool-reference.ts";
import { CAPABILITY_OF } from "./presentation.ts";

/** Everything needed to serve one Model: extproc's part and Envoy's part. */
export interface ServedModel {
  model: CatalogueModel;
  price: Price;
  schedule: PriceRule[];
  /** Of requests of batches; null: as of any other. */
  batch: BatchPrice | null;
  /** null if the Model takes no provider keys. */
  providerKeyFee: ProviderKeyFee | null;
  /** Those that take provider keys. */
  offered: readonly OfferedServer[];
  /** null if the Model does not set it. */
  cost: Price | null;
  /** By cluster name. */
  clusters: ReadonlyMap<string, Endpoint>;
  /** By SDS name. */
  secrets: ReadonlyMap<string, SecretContent>;
}

type ReadyBackend = Extract<ResolvedBackend, { kind: "ready" }>;

/** The maximum output of a Model without its own limit: it determines the hold for a request. */
const DEFAULT_MAX_OUTPUT_TOKENS = 32_768;
/** The most that widely used models count for an image is 6,240. */
const DEFAULT_IMAGE_TOKENS = 8_192;
/** The recording bounds it: seven hours of speech have fewer. */
const DEFAULT_TRANSCRIPTION_TOKENS = 200_000;

/** @param hook the server of the guardrail. @param refusedAliases names that another Model keeps. */
export function serveModel(
  { resource, createdSeconds }: SourcedModel,
  backends: readonly ReadyBackend[],
  {
    hook = null,
    refusedAliases = new Map(),
  }: { hook?: ReadyBackend | null; refusedAliases?: ReadonlyMap<string, string> | undefined } = {},
): ServedModel {
  const { modelName, aliases, limits, pricing, cost, guardrail } = resource.spec;
  const servers = hook === null ? backends : [...backends, hook];
  const interfaces = (resource.spec.interfaces ?? usualInterfaces(resource.spec.backends)).map((name) => INTERFACE_OF[name]);
  const inputInterface = interfaces.find(isInputInterface);
  const contextWindow = limits.contextWindow ?? null;
  return {
    model: {
      name: modelName,
      aliases: aliases.filter((alias) => !refusedAliases.has(alias)),
      ...toPresentation(resource.spec),
      ...(inputInterface === undefined ? {} : { capabilities: [inputInterface] }),
      interfaces,
      contextWindow,
      maxOutputTokens: outputOf(inputInterface, limits),
      createdSeconds,
      backends: backends.map((backend) => toCatalogue(backend, modelName)),
      ...toTimeouts(resource.spec.timeouts),
      ...toStreaming(resource.spec.streaming),
      ...toStorage(resource.spec.responses),
      ...toDeprecation(resource.spec.deprecation),
      ...(resource.spec.batch.enabled ? { takesBatches: true } : {}),
      ...(guardrail === undefined || hook === null ? {} : { guardrail: toGuardrail(guardrail, hook.cluster) }),
      ...toUnreadyProviders(resource.spec.backends, backends),
    },
    price: toPrice(pricing),
    schedule: pricing.schedule.map(({ from, daily, ...prices }) => ({
      fromMs: from === undefined ? null : Date.parse(from),
      daily: daily === undefined ? null : { fromMinute: minuteOf(daily.from), untilMinute: minuteOf(daily.until) },
      price: toPrice(prices),
    })),
    batch: pricing.batch === undefined ? null : toBatchPrice(pricing.batch),
    providerKeyFee: toProviderKeyFee(pricing.providerKeyFee),
    offered: backends.flatMap(({ resource, endpoint }) => offeredServer(resource, endpoint) ?? []),
    cost: cost === undefined ? null : toPrice(cost),
    clusters: new Map(servers.flatMap(({ cluster, endpoint }) => clustersOf(cluster, endpoint))),
    secrets: new Map(servers.flatMap(({ secrets }) => [...secrets])),
  };
}

/** Of an answer, or of an image. */
function outputOf(client: InputInterface | undefined, limits: SourcedModel["resource"]["spec"]["limits"]): number {
  if (client === "image_generation") return limits.maxOutputTokens ?? DEFAULT_IMAGE_TOKENS;
  if (client === "transcription") return limits.maxOutputTokens ?? DEFAULT_TRANSCRIPTION_TOKENS;
  return client === undefined ? maxOutputTokensOf(limits) : 0;
}

function maxOutputTokensOf({ contextWindow, maxOutputTokens }: SourcedModel["resource"]["spec"]["limits"]): number {
  return maxOutputTokens ?? Math.min(contextWindow ?? Infinity, DEFAULT_MAX_OUTPUT_TOKENS);
}

type Presentation = Pick<CatalogueModel, "displayName" | "description" | "capabilities">;

function toPresentation({ displayName, description, capabilities }: SourcedModel["resource"]["spec"]): Presentation {
  return {
    ...(displayName === undefined ? {} : { displayName }),
    ...(description === undefined ? {} : { description }),
    ...(capabilities === undefined ? {} : { capabilities: capabilities.map((name) => CAPABILITY_OF[name]) }),
  };
}

/** Envoy enforces the connect timeout. */
function toTimeouts({ firstByte, idle, whole }: SourcedModel["resource"]["spec"]["timeouts"]): Pick<CatalogueModel, "timeouts"> {
  if (firstByte === undefined && idle === undefined && whole === undefined) return {};
  return {
    timeouts: {
      ...(firstByte === undefined ? {} : { firstByteMs: firstByte }),
      ...(idle === undefined ? {} : { idleMs: idle }),
      ...(whole === undefined ? {} : { wholeMs: whole }),
    },
  };
}

function toStreaming({ keepAlive, answerAfter }: SourcedModel["resource"]["spec"]["streaming"]) {
  return {
    ...(keepAlive === undefined ? {} : { keepAliveMs: keepAlive }),
    ...(answerAfter === undefined ? {} : { answerAfterMs: answerAfter }),
  };
}

function toStorage({ storeHours }: SourcedModel["resource"]["spec"]["responses"]): Pick<CatalogueModel, "storeHours"> {
  return storeHours === undefined ? {} : { storeHours };
}

function toDeprecation(deprecation: SourcedModel["resource"]["spec"]["deprecation"]): Pick<CatalogueModel, "deprecation"> {
  const sinceSeconds = toSeconds(deprecation?.deprecatedTime);
  const sunsetSeconds = toSeconds(deprecation?.sunsetTime);
  if (sinceSeconds === undefined && sunsetSeconds === undefined) return {};
  return {
    deprecation: {
      ...(sinceSeconds === undefined ? {} : { sinceSeconds }),
      ...(sunsetSeconds === undefined ? {} : { sunsetSeconds }),
    },
  };
}

function toSeconds(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Math.floor(Date.parse(time) / 1000);
}

type Prices = Pick<
  SourcedModel["resource"]["spec"]["pricing"],
  | "inputPerMillion"
  | "cachedInputPerMillion"
  | "cacheWritePerMillion"
  | "outputPerMillion"
  | "searchPerThousand"
  | "charactersPerMillion"
  | "perMinute"
  | "perImage"
> & { images?: SourcedModel["resource"]["spec"]["pricing"]["images"] | undefined };

function toPrice(prices: Prices): Price {
  // Absent only beside a price of units.
  const inputPicoUsd = prices.inputPerMillion ?? 0n;
  return {
    inputPicoUsd,
    // A missing price is that of ordinary input: an omission never makes anything free.
    cachedInputPicoUsd: prices.cachedInputPerMillion ?? inputPicoUsd,
    cacheWritePicoUsd: prices.cacheWritePerMillion ?? inputPicoUsd,
    // Absent only for input interfaces, whose answers have no tokens, or none with a price.
    outputPicoUsd: prices.outputPerMillion ?? 0n,
    unitPicoUsd: prices.searchPerThousand ?? prices.charactersPerMillion ?? prices.perMinute ?? prices.perImage ?? 0n,
    ...(prices.images === undefined ? {} : { imagePrices: prices.images.map(toImagePrice) }),
  };
}

function toBatchPrice({ percent, ...prices }: NonNullable<SourcedModel["resource"]["spec"]["pricing"]["batch"]>): BatchPrice {
  if (percent !== undefined) return { percent };
  const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd } = toPrice(prices);
  return { price: { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd } };
}

function toImagePrice({ size, quality, perImage }: NonNullable<Prices["images"]>[number]): ImagePrice {
  return { size: size ?? null, quality: quality ?? null, unitPicoUsd: perImage };
}

function toProviderKeyFee(fee: SourcedModel["resource"]["spec"]["pricing"]["providerKeyFee"]): ProviderKeyFee | null {
  if (fee === undefined) return null;
  return { requestPicoUsd: fee.perRequest ?? 0n, millionths: fee.percent ?? 0n };
}

/** Accounts with a key for one of them have agreed to the fee, and not to the price of the backends that are left. */
function toUnreadyProviders(
  all: readonly BackendResource[],
  ready: readonly ReadyBackend[],
): Pick<CatalogueModel, "unreadyProviders"> {
  const taking = new Set(all.map(providerOf));
  for (const { resource } of ready) taking.delete(providerOf(resource));
  const unreadyProviders = [...taking].filter((provider) => provider !== undefined);
  return unreadyProviders.length === 0 ? {} : { unreadyProviders };
}

function providerOf({ bringYourOwnKey }: BackendResource): string | undefined {
  return bringYourOwnKey?.provider;
}

/** "08:30" as 510. */
function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3));
}

/**
 * A model that a provider serves only through Responses is off on the other interfaces until an administrator lists them (S8).
 */
function usualInterfaces(backends: readonly BackendResource[]): readonly (typeof INTERFACES)[number][] {
  return backends.every(({ protocol }) => protocol === "Responses") ? ["Responses"] : ["ChatCompletions", "Messages"];
}

function toCatalogue({ resource, cluster, endpoint, fingerprints }: ReadyBackend, modelName: string): Backend {
  const offered = offeredServer(resource, endpoint);
  return {
    name: resource.name,
    cluster,
    protocol: PROTOCOL_OF[resource.protocol],
    ...(resource.platform === undefined ? {} : { platform: PLATFORM_OF[resource.platform], betas: [] }),
    ...(resource.betas === undefined ? {} : { betas: resource.betas }),
    // Only for Messages does the path below it begin with `/v1` (S2); for the others `/v1` is part of the address.
    basePath: resource.url === undefined ? POOL_PATHS[resource.protocol] : new URL(resource.url).pathname.replace(/\/+$/, ""),
    ...(resource.apiVersion === undefined ? {} : { apiVersion: resource.apiVersion }),
    upstreamModel: resource.upstreamModel ?? modelName,
    weight: resource.weight,
    priority: resource.priority,
    profile: resolveProfile(resource),
    ...(fingerprints.length === 0 ? {} : { fingerprints: [...fingerprints] }),
    ...(offered === undefined
      ? {}
      : { providerKey: { provider: offered.provider, origin: offered.origin, endpoint: offered.endpoint } }),
  };
}

const PLATFORM_OF = { Bedrock: "bedrock", VertexAI: "vertex" } as const satisfies Record<
  NonNullable<BackendResource["platform"]>,
  Platform
>;

/** The default preset of a server. */
const PRESETS = { ChatCompletions: "generic", Messages: "anthropic", Responses: "openai" } as const satisfies Record<
  BackendResource["protocol"],
  ProfileName
>;

function resolveProfile({ protocol, profile = {} }: BackendResource): Profile {
  const { preset = PRESETS[protocol], ...flags } = profile;
  return { ...PROFILES[preset], ...flags };
}
