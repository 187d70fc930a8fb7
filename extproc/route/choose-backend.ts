import type { Backend } from "../../contract/catalogue.ts";
import { GatewayError } from "../../contract/errors.ts";

/**
 * The backend for one attempt: among those of the best (lowest) priority that have weight, by weight.
 * @param random in [0, 1).
 */
export function chooseBackend(backends: readonly Backend[], random: number): Backend {
  const usable = backends.filter((backend) => backend.weight > 0);
  const best = Math.min(...usable.map((backend) => backend.priority));
  const candidates = usable.filter((backend) => backend.priority === best);
  const total = candidates.reduce((sum, backend) => sum + backend.weight, 0);
  let left = random * total;
  for (const backend of candidates) {
    left -= backend.weight;
    if (left < 0) return backend;
  }
  const last = candidates.at(-1);
  if (last === undefined) throw noneAvailable();
  return last;
}

export function noneAvailable(): GatewayError {
  return new GatewayError("upstream_unavailable", "No server is available for this model right now. Try again later.", {
    headers: { "retry-after": "10" },
  });
}
