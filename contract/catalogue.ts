import * as z from "zod";
import { CAPABILITIES } from "./capability.ts";
import { PLATFORMS } from "./platform.ts";
import { profileSchema } from "./profile.ts";
import { providerKeyOfferSchema } from "./provider-key.ts";
import { INTERFACES, isInputInterface, PROTOCOLS } from "./protocol.ts";

/**
 * What the operator publishes about a Model and extproc serves from: the contract between the control plane and the data plane,
 * stored as JSON in Postgres. Prices are not in it: they are versioned rows.
 */
const backendSchema = z.strictObject({
  name: z.string(),
  /** Envoy cluster that reaches it; the value of the header `x-gateway-backend`. */
  cluster: z.string(),
  protocol: z.enum(PROTOCOLS),
  /** The cloud whose form of the messages protocol it speaks; the protocol's own form if absent. */
  platform: z.enum(PLATFORMS).optional(),
  /** Betas of the messages protocol that it knows; unknown, and all of a client's are sent, if absent. */
  betas: z.array(z.string()).optional(),
  /** Path before `/chat/completions`, `/v1/messages` or a platform's own; empty or `/…` without a trailing slash. */
  basePath: z.string(),
  /** Query parameter `api-version` of each request. */
  apiVersion: z.string().optional(),
  /** Model name on the upstream. */
  upstreamModel: z.string(),
  weight: z.int().nonnegative(),
  priority: z.int().nonnegative(),
  profile: profileSchema,
  /** Identifies the credential that Envoy sends there, in case a server repeats it (runtime/credential-fingerprint.ts). */
  fingerprints: z.array(z.strictObject({ length: z.int().positive(), hash: z.string() })).optional(),
  /** Accounts may bring their own key; absent if not. */
  providerKey: providerKeyOfferSchema.optional(),
});
export type Backend = z.infer<typeof backendSchema>;

const timeoutsSchema = z.strictObject({
  firstByteMs: z.int().positive().optional(),
  /** Between two pieces of a streamed answer. */
  idleMs: z.int().positive().optional(),
  wholeMs: z.int().positive().optional(),
});
export type Timeouts = z.infer<typeof timeoutsSchema>;

/** A hook that checks the text of requests before a model server gets them, and that of answers before clients do. */
const guardrailSchema = z.strictObject({
  /** Envoy cluster that reaches it. */
  cluster: z.string(),
  path: z.string(),
  /** Sent as `model`. */
  model: z.string().optional(),
  /** For the whole check. */
  timeoutMs: z.int().positive(),
  /** What happens to a request, or an answer, if there is no verdict. */
  onFailure: z.enum(["refuse", "allow"]),
  /** Requests are checked if absent. */
  requests: z.literal(false).optional(),
  /** Answers are not checked if absent. Streams are held until a window of so much text, or of so much time, has passed. */
  answers: z.strictObject({ windowCharacters: z.int().positive(), windowMs: z.int().positive() }).optional(),
});
export type Guardrail = z.infer<typeof guardrailSchema>;
export type AnswerWindow = NonNullable<Guardrail["answers"]>;

export const catalogueModelSchema = z.strictObject({
  name: z.string(),
  aliases: z.array(z.string()),
  /** Display name for people and model lists; `name` if absent. */
  displayName: z.string().optional(),
  description: z.string().optional(),
  /** As stated by the administrator; unknown if absent. */
  capabilities: z.array(z.enum(CAPABILITIES)).optional(),
  /** Interfaces that clients may use (S7); an input interface excludes all others. */
  interfaces: z.array(z.enum(INTERFACES)),
  contextWindow: z.int().positive().nullable(),
  /** 0 for input interfaces. */
  maxOutputTokens: z.int().nonnegative(),
  /** Unix seconds; `created` in the model list. */
  createdSeconds: z.int().nonnegative(),
  backends: z.array(backendSchema).min(1),
  /** Differences from the gateway's default: five minutes of silence, before or during the answer. */
  timeouts: timeoutsSchema.optional(),
  /** How long a stream may be silent before its client gets a keep-alive; 15 seconds if absent. */
  keepAliveMs: z.int().positive().optional(),
  /** How long a stream waits for its model server before the gateway answers instead; forever if absent. */
  answerAfterMs: z.int().positive().optional(),
  /** How long responses are stored after their last use; not stored if absent. */
  storeHours: z.int().positive().optional(),
  /** Requests may come in batches; they may not if absent. */
  takesBatches: z.literal(true).optional(),
  /** Nothing is checked if absent. */
  guardrail: guardrailSchema.optional(),
  /** Providers whose keys the Model takes, but none of whose backends is ready; none if absent. */
  unreadyProviders: z.array(z.string()).optional(),
  /** Announces the model's removal, in Unix seconds: answers carry it as `deprecation` and `sunset` headers. */
  deprecation: z.strictObject({ sinceSeconds: z.int().optional(), sunsetSeconds: z.int().optional() }).optional(),
});
export type CatalogueModel = z.infer<typeof catalogueModelSchema>;

/** Whether only its input is charged: then it serves no conversations, and its output has no price. */
export function isInputOnly({ interfaces }: Pick<CatalogueModel, "interfaces">): boolean {
  return interfaces.some(isInputInterface);
}

/** Providers for which accounts may bring their own key, by name. */
export function providersOf({
  backends,
  unreadyProviders = [],
}: Pick<CatalogueModel, "backends" | "unreadyProviders">): string[] {
  const ready = backends.flatMap(({ providerKey }) => (providerKey === undefined ? [] : [providerKey.provider]));
  return [...new Set([...ready, ...unreadyProviders])].toSorted();
}
