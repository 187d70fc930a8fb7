import * as z from "zod";

/**
 * A provider key is an account's own key for a provider. Its value is known to the operator and to Envoy alone: this is what the
 * planes say about it.
 */

/** "active": Envoy has it. "no_room": the gateway has no room for it. "unusable": it cannot be decrypted, or Envoy rejects it. */
export const PROVIDER_KEY_STATES = ["pending", "active", "no_room", "unusable"] as const;
export type ProviderKeyState = (typeof PROVIDER_KEY_STATES)[number];

/** The name under which Models offer it and accounts enter it. */
export const PROVIDER_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
export const PROVIDER_NAME_LENGTH = 32;

/** Of a key's value: what fits into a header. */
export const PROVIDER_KEY_LENGTH = { min: 8, max: 2_048 } as const;

/** Part of an account's row, without anything that is secret. */
export const providerKeysSchema = z.array(
  z.strictObject({
    id: z.string(),
    provider: z.string(),
    /** Where it is sent, and nowhere else: `https://api.provider.example`. */
    origin: z.string(),
    /** A key in a state of a newer version is not used; the account's other keys are. */
    state: z.enum(PROVIDER_KEY_STATES).catch("unusable"),
    /** While it cannot be used, requests may have the gateway's credential, and the price; they are refused if absent. */
    fallsBack: z.literal(true).optional(),
    /** Identify it, in case the provider repeats it (runtime/credential-fingerprint.ts). */
    fingerprints: z.array(z.strictObject({ length: z.int().positive(), hash: z.string() })),
  }),
);
export type ProviderKeys = z.infer<typeof providerKeysSchema>;

/** That a backend may be used with provider keys. */
export const providerKeyOfferSchema = z.strictObject({
  provider: z.string(),
  origin: z.string(),
  /** Identifies the server, and how it is reached: backends with equal ones share the clusters of provider keys. */
  endpoint: z.string(),
});

/** What a request costs that is sent with a provider key: this, in place of its price. */
export interface ProviderKeyFee {
  /** Of each charged request. */
  requestPicoUsd: bigint;
  /** Millionths of what it would cost without. */
  millionths: bigint;
}

export const PROVIDER_CLUSTER_PREFIX = "provider-key/";

/** Name of the cluster that sends requests to a backend with a provider key. */
export function providerCluster(keyId: string, endpoint: string): string {
  return `${PROVIDER_CLUSTER_PREFIX}${keyId}/${endpoint}`;
}
