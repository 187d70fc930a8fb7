import { isIPv6 } from "node:net";
import { Server, ServerCredentials, type ServerDuplexStream } from "@grpc/grpc-js";
import { AggregatedDiscoveryService } from "../../runtime/gen/envoy/service/discovery/v3/ads_pb.js";
import type { DiscoveryRequest, DiscoveryResponse } from "../../runtime/gen/envoy/service/discovery/v3/discovery_pb.js";
import { serviceDefinition } from "../../runtime/grpc.ts";
import type { OperatorEvents } from "../events.ts";
import { createAdsStream, type AdsStream } from "./ads-stream.ts";
import type { Snapshot } from "./snapshot.ts";
import type { SocketAddress } from "../bootstrap/socket-address.ts";
import { prepareSocket } from "./socket-file.ts";

/** The connected Envoys' result for a push. */
export type PushOutcome =
  /** All have it; `envoys` is 0 if none is connected. */
  | { kind: "acked"; envoys: number }
  /** One rejected it, with its message, which names the cluster at fault. */
  | { kind: "rejected"; message: string }
  /** Some did not reply in time; their node ids. */
  | { kind: "late"; nodes: string[] };

/** Who gets access: holders of a certificate on a TCP port, or anyone who may enter the directory of a Unix socket. */
export type XdsListen = { path: string } | (SocketAddress & { credentials: ServerCredentials });

export interface XdsServer {
  /** 0 for a Unix socket. */
  readonly port: number;
  readonly connected: number;
  push(snapshot: Snapshot): void;
  /** Waits for the last pushed snapshot. */
  waitForAck(timeoutMs: number): Promise<PushOutcome>;
  stop(): Promise<void>;
}

export interface XdsServerDeps {
  events: Pick<OperatorEvents, "envoyConnected" | "envoyDisconnected" | "configurationRejected">;
}

type Call = ServerDuplexStream<DiscoveryRequest, DiscoveryResponse>;

/**
 * The operator's discovery service (ADS, state of the world) for any number of Envoys. It serves the providers' credentials, so
 * there is no plain TCP. Port 0 for a free one.
 */
export async function startXdsServer(listen: XdsListen, { events }: XdsServerDeps): Promise<XdsServer> {
  const streams = new Map<Call, AdsStream>();
  const waiting = new Set<() => void>();
  let current: Snapshot | null = null;

  const wake = () => {
    for (const look of waiting) look();
  };

  function streamAggregatedResources(call: Call): void {
    const stream = createAdsStream({
      send: (response) => void call.write(response),
      onRejected: (rejection) => events.configurationRejected(rejection),
    });
    if (current !== null) stream.update(current);
    streams.set(call, stream);
    const gone = () => {
      if (!streams.delete(call)) return;
      events.envoyDisconnected({ node: stream.node, connected: streams.size });
      wake();
    };
    call.on("data", (request: DiscoveryRequest) => {
      const isFirst = stream.node === "";
      stream.receive(request);
      if (isFirst) events.envoyConnected({ node: stream.node, connected: streams.size });
      wake();
    });
    call.on("end", () => {
      gone();
      call.end();
    });
    for (const event of ["cancelled", "close", "error"]) call.on(event, gone);
  }

  const server = new Server({ "grpc.keepalive_time_ms": 30_000, "grpc.keepalive_timeout_ms": 5_000 });
  server.addService(serviceDefinition(AggregatedDiscoveryService), {
    streamAggregatedResources,
    // Delta discovery is for thousands of resources; the bootstrap never asks for it.
    deltaAggregatedResources: (call: Call) => call.end(),
  });
  const boundPort = await bind(server, listen);

  function outcome(): PushOutcome | null {
    const snapshot = current;
    if (snapshot === null) return { kind: "acked", envoys: 0 };
    const standings = [...streams.values()].map((stream) => stream.standing(snapshot));
    const rejected = standings.find((standing) => standing.kind === "rejected");
    if (rejected !== undefined) return { kind: "rejected", message: rejected.message };
    return standings.every((standing) => standing.kind === "acked") ? { kind: "acked", envoys: standings.length } : null;
  }

  function lateNodes(): string[] {
    const snapshot = current;
    if (snapshot === null) return [];
    return [...streams.values()].filter((stream) => stream.standing(snapshot).kind !== "acked").map((stream) => stream.node);
  }

  return {
    port: boundPort,
    get connected() {
      return streams.size;
    },
    push(snapshot) {
      current = snapshot;
      for (const stream of streams.values()) stream.update(snapshot);
      wake();
    },
    async waitForAck(timeoutMs) {
      const { promise, resolve } = Promise.withResolvers<PushOutcome>();
      const look = () => {
        const found = outcome();
        if (found !== null) resolve(found);
      };
      waiting.add(look);
      const timer = setTimeout(() => resolve({ kind: "late", nodes: lateNodes() }), timeoutMs);
      look();
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(look);
      }
    },
    async stop() {
      // Discovery streams never end by themselves; Envoy reconnects and keeps serving what it has.
      for (const call of streams.keys()) call.end();
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      server.tryShutdown(() => resolve());
      const timer = setTimeout(() => server.forceShutdown(), 500);
      await closed;
      clearTimeout(timer);
    },
  };
}

/** @returns the port in use. */
async function bind(server: Server, listen: XdsListen): Promise<number> {
  if ("path" in listen) {
    await prepareSocket(listen.path);
    await bindTo(server, { address: `unix:${listen.path}`, credentials: ServerCredentials.createInsecure() });
    return 0;
  }
  // Without brackets, an IPv6 address is taken for a name.
  const host = isIPv6(listen.host) ? `[${listen.host}]` : listen.host;
  return await bindTo(server, { address: `${host}:${listen.port}`, credentials: listen.credentials });
}

async function bindTo(
  server: Server,
  { address, credentials }: { address: string; credentials: ServerCredentials },
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.bindAsync(address, credentials, (error, port) => (error === null ? resolve(port) : reject(error)));
  return promise;
}
