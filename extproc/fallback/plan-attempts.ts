import type { Caller } from "../auth/authenticate.ts";
import { affinityOf } from "../route/affinity.ts";
import type { BackendHealth } from "../route/backend-health.ts";
import { orderBackends } from "../route/order-backends.ts";
import type { TranslationInput } from "../translate/translation.ts";
import { startAttempts, type Attempts, type AttemptsDeps, type AttemptsStart } from "./attempts.ts";

export interface AttemptsPlan extends Pick<TranslationInput, "body" | "parsed" | "headers" | "model" | "requestId"> {
  caller: Caller;
  translate: AttemptsStart["translate"];
}

/**
 * The way of a request through its Model's backends; undefined where there is only one, which is asked without a detour.
 * @throws GatewayError as orderBackends and startAttempts.
 */
export function planAttempts(plan: AttemptsPlan, deps: AttemptsDeps & { health: BackendHealth }): Attempts | undefined {
  const { model, caller, ...request } = plan;
  if (model.backends.length === 1) return undefined;
  const backends = orderBackends(model.backends, {
    affinity: affinityOf({ ...request, keyId: caller.key.publicId }),
    health: deps.health,
    nowMs: deps.clock.nowMs(),
  });
  return startAttempts({ ...request, model, backends }, deps);
}
