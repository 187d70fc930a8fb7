import { expect, test } from "vitest";
import { buildBootstrap } from "../../../../operator/bootstrap/bootstrap.ts";
import { buildCluster } from "../../../../operator/xds/cluster.ts";
import { relayListener } from "../../../../operator/bootstrap/listeners/relay.ts";
import { routeByBodyLength } from "../../../../operator/bootstrap/filters/held-body.ts";

const MEBIBYTE = 1024 * 1024;
const MAX_REQUEST_BYTES = 32 * MEBIBYTE;

/** Every value under a name, wherever it stands. */
function valuesOf(name: string, config: unknown): unknown[] {
  if (typeof config !== "object" || config === null) return [];
  return Object.entries(config).flatMap(([key, value]: [string, unknown]) => (key === name ? [value] : valuesOf(name, value)));
}

const options = {
  nodeId: "envoy",
  listen: { host: "0.0.0.0", port: 8080 },
  extproc: [9002, 9012].map((port) => ({ host: "127.0.0.1", port })),
  xds: { host: "127.0.0.1", port: 9004 },
  admin: { host: "127.0.0.1", port: 9901 },
  maxRequestBytes: MAX_REQUEST_BYTES,
};
const bootstrap = buildBootstrap(options);

test("no connection or stream may hold more than 1 MiB; only a body that waits for the processor may have its 32", () => {
  const connections = valuesOf("per_connection_buffer_limit_bytes", bootstrap);
  const streams = valuesOf("initial_stream_window_size", bootstrap);
  // Clients, the relay and the attempts on both of their sides, pools, extproc.
  expect([connections.length, streams.length]).toEqual([7, 2]);
  for (const bytes of [...connections, ...streams]) expect(bytes).toBeLessThanOrEqual(MEBIBYTE);
  expect(Math.max(...valuesOf("request_body_buffer_limit", bootstrap).map(Number))).toBe(MAX_REQUEST_BYTES);
});

test("the buffer for a request and its streamed answer depends on the body's length", () => {
  const unprocessed = { name: "unprocessed", match: { prefix: "/" }, route: {} };
  const routes = routeByBodyLength(unprocessed, { maxRequestBytes: MAX_REQUEST_BYTES });
  // A range's end is not in it.
  expect(routes.map((route) => [valuesOf("end", route)[0], route["request_body_buffer_limit"]])).toEqual([
    [64 * 1024 + 1, 256 * 1024],
    [256 * 1024 + 1, 320 * 1024],
    [512 * 1024 + 1, 576 * 1024],
    ...[1, 2, 4, 8, 16].map((mebibytes) => [mebibytes * MEBIBYTE + 1, mebibytes * MEBIBYTE + 64 * 1024]),
    [undefined, MAX_REQUEST_BYTES],
  ]);
  expect(new Set(routes.map(({ name }) => name)).size).toBe(routes.length);
});

test("a stream with a long prompt is sent once: retries would keep it until the stream ends", () => {
  const routes = valuesOf("routes", relayListener({ maxRequestBytes: MAX_REQUEST_BYTES })).flat();
  const toServers = routes.filter((route) => valuesOf("cluster_header", route).length > 0);
  const lengths = toServers.map((route) => valuesOf("end", route)[0]);
  const areSentAgain = toServers.map((route) => valuesOf("retry_policy", route).length > 0);
  expect(lengths).toEqual([256 * 1024 + 1, 256 * 1024 + 1, undefined, undefined]);
  expect(areSentAgain).toEqual([true, true, false, false]);
});

test("connections take turns, so that one with a thousand streams has no advantage over one with a single stream", () => {
  expect(valuesOf("http.max_requests_per_io_cycle", bootstrap)).toEqual([1]);
});

test("memory left after a flood is returned to the system, beyond a quarter of the heap's bound", () => {
  expect(bootstrap["memory_allocator_manager"]).toMatchObject({ soft_memory_limit_bytes: 256 * MEBIBYTE });
  const small = buildBootstrap({ ...options, maxHeapBytes: 400 * MEBIBYTE });
  expect(small["memory_allocator_manager"]).toMatchObject({ soft_memory_limit_bytes: 100 * MEBIBYTE });
});

test("clients' connections have TCP keep-alives within what balancers allow, usually 60 seconds", () => {
  expect(valuesOf("tcp_keepalive", bootstrap)).toEqual([{ keepalive_time: 20, keepalive_interval: 20, keepalive_probes: 6 }]);
});

test("every wait for a server ends: a route without a total timeout has an idle timeout", () => {
  const routes = valuesOf("route", bootstrap).filter((route) => valuesOf("timeout", { route }).includes("0s"));
  expect(routes.length).toBeGreaterThan(5);
  for (const route of routes) expect(Number.parseInt(String(valuesOf("idle_timeout", route)[0]), 10)).toBeGreaterThan(0);
});

test("a model server's connection buffers little", () => {
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
