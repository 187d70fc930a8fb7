import { MAX_REQUEST_BYTES } from "../../contract/headers.ts";
import { buildBootstrap } from "../../operator/bootstrap/bootstrap.ts";
import type { EnvoyConfig } from "../../operator/bootstrap/envoy-config.ts";
import { heapWithin, memoryLimit } from "../process/memory.ts";

const SOCKETS = "/run/model-gateway";
const EVERY_ADDRESS = "0.0.0.0";
const LOOPBACK = "127.0.0.1";

/** Envoy's bootstrap in its container: services of compose.yaml by their names, and Unix sockets in a volume. */
export function composeBootstrap(): EnvoyConfig {
  return buildBootstrap({
    nodeId: "compose",
    // The container's own addresses; compose.yaml defines where the port is published.
    listen: { host: EVERY_ADDRESS, port: 8080 },
    admin: { host: LOOPBACK, port: 9901 },
    extproc: [{ path: `${SOCKETS}/extproc.sock` }],
    earlyAnswers: { path: `${SOCKETS}/early.sock` },
    batches: { path: `${SOCKETS}/batches.sock` },
    xds: { path: `${SOCKETS}/xds.sock` },
    dashboard: { host: "dashboard", port: 8090 },
    maxRequestBytes: MAX_REQUEST_BYTES,
    maxHeapBytes: heapWithin(memoryLimit()),
  });
}
