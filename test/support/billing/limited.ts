import type { Limits as LimitSettings } from "../../../contract/limits.ts";
import type { Caller } from "../../../extproc/auth/authenticate.ts";
import type { LimitedRequest } from "../../../extproc/limits/limits.ts";
import { worldKey } from "./world-key.ts";

export function callerWith(ofKey: LimitSettings, ofAccount: LimitSettings = {}): Caller {
  return {
    key: worldKey({ limits: ofKey }),
    account: { accountId: "acme", isSuspended: false, postedNanoUsd: 0n, overdraftNanoUsd: 0n, version: 0n, limits: ofAccount },
  };
}

/** A request that begins at once. @throws Error if it waits for a turn. */
export function begun(request: LimitedRequest | Promise<LimitedRequest>): LimitedRequest {
  if (!(request instanceof Promise)) return request;
  request.catch(() => {});
  throw new Error("The request waits for a turn.");
}

/** No request waits for a turn by this clock: all waits are over when they begin. */
export function impatientClock(): { nowMs(): number } {
  let now = 0;
  return { nowMs: () => (now += 60_000) };
}
