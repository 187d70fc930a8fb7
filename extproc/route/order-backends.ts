import { createHash } from "node:crypto";
import type { Backend } from "../../contract/catalogue.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { BackendHealth } from "./backend-health.ts";
import { noneAvailable } from "./choose-backend.ts";

export interface BackendOrder {
  /** Requests with the same text go to the same backend among equals. */
  affinity: string;
  health: Pick<BackendHealth, "restOf">;
}

/** More would keep a client waiting for a request that fails everywhere. */
const MAX_ATTEMPTS = 4;

/**
 * The backends to try, in order: by priority, and among equals by rendezvous hashing, in which each backend has the share of its
 * weight, and one that disappears moves only its own share. Resting backends are left out; if all rest, the one whose rest ends
 * first is tried, unless each of them has requested a pause.
 * @throws GatewayError `rate_limited` in that case, with the time to wait.
 */
export function orderBackends(backends: readonly Backend[], { affinity, health }: BackendOrder): Backend[] {
  const key = createHash("sha256").update(affinity).digest();
  const ordered = backends
    .filter(({ weight }) => weight > 0)
    .map((backend) => ({ backend, rest: health.restOf(backend.cluster), rank: rankOf(backend, key) }))
    .sort((first, second) => first.backend.priority - second.backend.priority || first.rank - second.rank);
  const awake = ordered.filter(({ rest }) => rest === null);
  if (ordered.length === 0) throw noneAvailable();
  if (awake.length > 0) return awake.slice(0, MAX_ATTEMPTS).map(({ backend }) => backend);

  const unasked = ordered.filter(({ rest }) => rest?.isAsked === false).sort((a, b) => leftOf(a) - leftOf(b));
  if (unasked[0] !== undefined) return [unasked[0].backend];
  const seconds = Math.max(1, Math.ceil(Math.min(...ordered.map(leftOf)) / 1000));
  throw new GatewayError("rate_limited", "The model servers are not accepting requests right now. Try again later.", {
    headers: { "retry-after": String(seconds) },
  });
}

function leftOf({ rest }: { rest: { leftMs: number } | null }): number {
  return rest?.leftMs ?? 0;
}

/** Exponentially distributed with the weight as its rate: each is the smallest of several in proportion to its share. */
function rankOf({ name, weight }: Backend, key: Buffer): number {
  const digest = createHash("sha256").update(key).update(name).digest();
  const uniform = (digest.readUIntBE(0, 6) + 1) / 2 ** 48;
  return -Math.log(uniform) / weight;
}
