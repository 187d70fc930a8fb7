import { GatewayError } from "../../contract/errors.ts";
import { isSecretOf, parseApiKey, type Pepper } from "../../ledger/keys.ts";
import type { World, WorldAccount, WorldKey } from "../world/world.ts";
import { findCredential } from "./credential.ts";
import { explainKey } from "./key-mistake.ts";

/** Who pays for a request. */
export interface Caller {
  key: WorldKey;
  account: WorldAccount;
}

export interface AuthenticateInput {
  headers: ReadonlyMap<string, string>;
  world: World;
  pepper: Pepper;
  nowMs: number;
  /** Where keys are made. */
  keysUrl: string;
}

/** Deleted keys are not kept in memory, so nothing tells them from keys that never were. */
const NOT_VALID = "The API key is not valid: it was deleted, or it is mistyped.";

/**
 * The caller behind the credential (S18). The secret is hashed and compared in constant time; nothing of
 * it appears in an error.
 * @throws GatewayError `invalid_api_key`; `billing_unavailable` when the gateway cannot know the key now.
 */
export function authenticate({ headers, world, pepper, nowMs, keysUrl }: AuthenticateInput): Caller {
  const credential = findCredential(headers, keysUrl);
  const parsed = parseApiKey(credential);
  const remedy = `Create a new key at ${keysUrl} and keep the full value.`;
  if (parsed.kind !== "key") {
    const { sentence, needsKey } = explainKey(credential);
    throw new GatewayError("invalid_api_key", needsKey ? `${sentence} ${remedy}` : sentence);
  }

  const key = world.findKey(parsed.publicId);
  if (key === undefined) {
    // A key made a moment ago may not have arrived while the database is away: that is not the caller's fault.
    if (!world.isCurrent(nowMs))
      throw new GatewayError("billing_unavailable", "The key cannot be checked right now. Try again shortly.", {
        headers: { "retry-after": "5" },
      });
    throw new GatewayError("invalid_api_key", `${NOT_VALID} ${remedy}`);
  }
  if (!isSecretOf(key, { secret: parsed.secret, pepper, nowMs }))
    throw new GatewayError("invalid_api_key", `${NOT_VALID} ${remedy}`);
  if (key.isDisabled)
    throw new GatewayError("invalid_api_key", "The API key is disabled. Enable it in the dashboard or use another.");
  if (key.expiresAt !== null && key.expiresAt.getTime() <= nowMs)
    throw new GatewayError("invalid_api_key", `The API key expired on ${key.expiresAt.toISOString()}. ${remedy}`);

  const account = world.findAccount(key.accountId);
  if (account === undefined)
    throw new GatewayError("billing_unavailable", "The account of this key cannot be read right now. Try again shortly.", {
      headers: { "retry-after": "5" },
    });
  if (account.isSuspended)
    throw new GatewayError("permission_denied", "This account is suspended. Ask the operator of this service.");
  return { key, account };
}
