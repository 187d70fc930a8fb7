import { GatewayError } from "../../contract/errors.ts";
import type { AppDeps } from "../app-deps.ts";

/** Whether the operator of the service lets accounts record prompts. */
export function hasPromptLog({ maxPromptLogBytes }: Pick<AppDeps, "maxPromptLogBytes">): boolean {
  return maxPromptLogBytes !== 0;
}

/**
 * @param days that a key is to record; null and undefined: none.
 * @throws GatewayError `invalid_request` if the service records nothing.
 */
export function checkPromptLog(
  deps: Pick<AppDeps, "maxPromptLogBytes">,
  { days, field }: { days: number | null | undefined; field: string },
): void {
  if (typeof days !== "number" || hasPromptLog(deps)) return;
  throw new GatewayError("invalid_request", "The operator of this service has turned the prompt log off.", { field });
}
