import { createHash } from "node:crypto";
import type { Endpoint } from "./endpoint.ts";

/**
 * `model/<model>/<backend>/<8 hex digits of the endpoint>`. A changed endpoint is another cluster, so that requests on the old
 * one are not cut, and a rejected configuration is distinguished from its correction.
 */
export function clusterName({ model, backend, endpoint }: { model: string; backend: string; endpoint: Endpoint }): string {
  const { pool } = endpoint;
  const lasting = pool === undefined ? endpoint : { ...endpoint, pool: { ...pool, members: [] } };
  const digest = createHash("sha256").update(JSON.stringify(lasting)).digest("hex").slice(0, 8);
  return `model/${model}/${backend}/${digest}`;
}
