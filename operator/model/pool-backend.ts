import type { AddressPolicy } from "../address/policy.ts";
import type { ResourceSet } from "../source/source.ts";
import type { EndpointPool } from "../xds/endpoint.ts";
import type { BackendResource } from "./backend-resource.ts";
import type { ConditionReason } from "./status.ts";

export type ResolvedPool =
  | { kind: "ready"; host: string; pool: EndpointPool }
  | { kind: "missing"; reason: ConditionReason; message: string };

interface PoolDeps {
  /** The Model's. */
  namespace: string;
  pools: ResourceSet["pools"];
  policy: AddressPolicy;
}

/** What a backend's `pool` names, if its pods and its picker are where backends may be. */
export function resolvePool(reference: BackendResource["pool"], { namespace, pools, policy }: PoolDeps): ResolvedPool {
  const missing = (reason: ConditionReason, message: string) => ({ kind: "missing", reason, message }) as const;
  if (reference === undefined) return missing("PoolInvalid", "the backend names no server");
  const key = `${namespace}/${reference.name}`;
  if (pools === undefined)
    return missing(
      "PoolNotFound",
      `InferencePool ${key}: there are pools in a Kubernetes cluster only; here, name the server's url`,
    );
  const sourced = pools.get(key);
  if (sourced === undefined) return missing("PoolNotFound", `InferencePool ${key} has not been read yet`);
  if (sourced.kind === "missing") return missing(sourced.reason, `InferencePool ${key} ${sourced.message}`);
  const { members, isHttp2, picker } = sourced.pool;
  for (const [what, address] of [
    ["the endpoint picker", picker.host],
    ...members.map(({ host }) => ["pod", host] as const),
  ] as const) {
    const objection = policy.objectionInside(namespace, address);
    if (objection !== null) return missing("AddressNotAllowed", `pool: ${what} ${objection}`);
  }
  const isTls = reference.pickerTls === "Unverified";
  return {
    kind: "ready",
    // Not resolved: it distinguishes the pool.
    host: `${reference.name}.${namespace}.pool`,
    pool: { members, isHttp2, picker: { host: picker.host, port: picker.port, failsOpen: picker.failsOpen, isTls } },
  };
}
