import { writeFile } from "node:fs/promises";
import path from "node:path";
import { findEnvoy } from "../../../local/envoy.ts";
import { freePorts, LOOPBACK } from "../../../local/process/ports.ts";
import { pathOf } from "../pairs.ts";
import { startChild } from "./child.ts";
import type { Gateway } from "./gateway.ts";

/** Envoy alone, without a filter: what any gateway that is built on it costs at least. */
export async function startPlainEnvoy(setting: { upstreamUrl: string; directory: string }): Promise<Gateway> {
  const [port = 0, adminPort = 0] = await freePorts(2);
  const file = path.join(setting.directory, "plain-envoy.json");
  await writeFile(file, JSON.stringify(bootstrap({ port, adminPort, upstream: new URL(setting.upstreamUrl) })));
  const child = await startChild({
    name: "Envoy",
    program: await findEnvoy({ environment: process.env, onProgress: (line) => process.stderr.write(`${line}\n`) }),
    parameters: ["-c", file, "--disable-hot-restart", "--log-level", "warning"],
    readyUrl: `http://${LOOPBACK}:${port}/`,
    logFile: path.join(setting.directory, "plain-envoy.log"),
  });
  return {
    name: "Envoy alone",
    target: ({ client }) => ({ url: `http://${LOOPBACK}:${port}${pathOf(client)}`, headers: {} }),
    parts: { envoy: child.pid },
    settled: async () => {},
    stop: () => child.stop(),
  };
}

function bootstrap({ port, adminPort, upstream }: { port: number; adminPort: number; upstream: URL }): object {
  const address = (portValue: number) => ({ socket_address: { address: LOOPBACK, port_value: portValue } });
  const many = 1_000_000;
  return {
    admin: { address: address(adminPort) },
    static_resources: {
      listeners: [{ name: "clients", address: address(port), filter_chains: [{ filters: [connectionManager] }] }],
      clusters: [
        {
          name: "upstream",
          type: "STATIC",
          circuit_breakers: { thresholds: [{ max_connections: many, max_pending_requests: many, max_requests: many }] },
          load_assignment: {
            cluster_name: "upstream",
            endpoints: [{ lb_endpoints: [{ endpoint: { address: address(Number(upstream.port)) } }] }],
          },
        },
      ],
    },
  };
}

const connectionManager = {
  name: "envoy.filters.network.http_connection_manager",
  typed_config: {
    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    stat_prefix: "clients",
    http_filters: [
      {
        name: "envoy.filters.http.router",
        typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
      },
    ],
    route_config: {
      virtual_hosts: [
        { name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster: "upstream", timeout: "0s" } }] },
      ],
    },
  },
};
