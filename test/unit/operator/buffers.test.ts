import { expect, test } from "vitest";
import { buildBootstrap } from "../../../operator/xds/bootstrap.ts";
import { buildCluster } from "../../../operator/xds/cluster.ts";
import { routeByBodyLength } from "../../../operator/xds/held-body.ts";

const MEBIBYTE = 1024 * 1024;
const MAX_REQUEST_BYTES = 32 * MEBIBYTE;

/** Every value under a name, wherever it stands. */
function valuesOf(name: string, config: unknown): unknown[] {
  if (typeof config !== "object" || config === null) return [];
  return Object.entries(config).flatMap(([key, value]: [string, unknown]) => (key === name ? [value] : valuesOf(name, value)));
}

const bootstrap = buildBootstrap({
  nodeId: "envoy",
  listen: { host: "0.0.0.0", port: 8080 },
  extproc: [9002, 9012].map((port) => ({ host: "127.0.0.1", port })),
  xds: { host: "127.0.0.1", port: 9004 },
  admin: { host: "127.0.0.1", port: 9901 },
  maxRequestBytes: MAX_REQUEST_BYTES,
});

test("no connection and no stream may hold more than 1 MiB; only a body that waits for the processor may have its 32", () => {
  const connections = valuesOf("per_connection_buffer_limit_bytes", bootstrap);
  const streams = valuesOf("initial_stream_window_size", bootstrap);
  // Clients, the relay and the attempts on both of their sides, extproc.
  expect([connections.length, streams.length]).toEqual([6, 2]);
  for (const bytes of [...connections, ...streams]) expect(bytes).toBeLessThanOrEqual(MEBIBYTE);
  expect(Math.max(...valuesOf("request_body_buffer_limit", bootstrap).map(Number))).toBe(MAX_REQUEST_BYTES);
});

test("what is held of a request and its streamed answer depends on the body's length", () => {
  const unprocessed = { name: "unprocessed", match: { prefix: "/" }, route: {} };
  const routes = routeByBodyLength(unprocessed, { maxRequestBytes: MAX_REQUEST_BYTES });
  // A range's end is not in it.
  expect(routes.map((route) => [valuesOf("end", route)[0], route["request_body_buffer_limit"]])).toEqual([
    [64 * 1024 + 1, 256 * 1024],
    [256 * 1024 + 1, MEBIBYTE],
    [MEBIBYTE + 1, 4 * MEBIBYTE],
    [undefined, MAX_REQUEST_BYTES],
  ]);
  expect(new Set(routes.map(({ name }) => name)).size).toBe(routes.length);
});

test("a model server's connection holds little", () => {
  const cluster = buildCluster("c", {
    host: "provider.example",
    port: 443,
    tls: { serverName: "provider.example", rootsSecret: "roots" },
    credential: null,
    guard: null,
    connectTimeoutMs: 1_000,
  });
  expect(cluster.perConnectionBufferLimitBytes).toBeLessThanOrEqual(MEBIBYTE);
});
