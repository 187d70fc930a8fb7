import { create } from "@bufbuild/protobuf";
import { anyPack, durationFromMs, type Any } from "@bufbuild/protobuf/wkt";
import { isIP } from "node:net";
import {
  Cluster_DiscoveryType as DiscoveryType,
  Cluster_DnsLookupFamily as DnsLookupFamily,
  ClusterSchema,
  type Cluster,
} from "../../runtime/gen/envoy/config/cluster/v3/cluster_pb.js";
import { RoutingPriority } from "../../runtime/gen/envoy/config/core/v3/base_pb.js";
import { CONNECTION_BUFFER_BYTES } from "../bootstrap/buffers.ts";
import { hostHeader, type Endpoint } from "./endpoint.ts";
import { httpProtocolOptions } from "./upstream-http.ts";
import { upstreamTls } from "./upstream-tls.ts";

export function buildCluster(name: string, endpoint: Endpoint): Cluster {
  return create(ClusterSchema, {
    name,
    ...discovery(endpoint),
    connectTimeout: durationFromMs(endpoint.connectTimeoutMs),
    perConnectionBufferLimitBytes: CONNECTION_BUFFER_BYTES,
    loadAssignment: {
      clusterName: name,
      endpoints: [
        {
          lbEndpoints: [
            {
              hostIdentifier: {
                case: "endpoint",
                value: {
                  // The route's auto_host_rewrite reads the Host header from here; an address without it would send the client's.
                  hostname: hostHeader(endpoint),
                  address: {
                    address: {
                      case: "socketAddress",
                      value: { address: endpoint.host, portSpecifier: { case: "portValue", value: endpoint.port } },
                    },
                  },
                },
              },
            },
          ],
        },
      ],
    },
    circuitBreakers: UNLIMITED,
    upstreamConnectionOptions: KEPT_ALIVE,
    transportSocket: endpoint.tls === null ? undefined : upstreamTls(endpoint.tls),
    typedExtensionProtocolOptions: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": httpProtocolOptions(name, endpoint),
    },
  });
}

export function packCluster(cluster: Cluster): Any {
  return anyPack(ClusterSchema, cluster);
}

/**
 * Public providers have names that resolve to different addresses every time: LOGICAL_DNS uses one per new connection and keeps
 * the old ones. A plain HTTP name is a Service in the cluster, often headless: STRICT_DNS spreads over all its Pods.
 */
function discovery({ host, tls }: Endpoint) {
  if (isIP(host) > 0) return { clusterDiscoveryType: { case: "type", value: DiscoveryType.STATIC } } as const;
  return {
    clusterDiscoveryType: { case: "type", value: tls === null ? DiscoveryType.STRICT_DNS : DiscoveryType.LOGICAL_DNS },
    dnsLookupFamily: DnsLookupFamily.V4_PREFERRED,
    respectDnsTtl: true,
  } as const;
}

/** Envoy's defaults (1,024 requests, 3 retries) would fail requests that the account has paid for. */
export const UNLIMITED = { thresholds: [unlimited(RoutingPriority.DEFAULT), unlimited(RoutingPriority.HIGH)] };

/** Detects a server that vanished silently while a stream waits for its next token. */
export const KEPT_ALIVE = { tcpKeepalive: { keepaliveTime: 60, keepaliveInterval: 15, keepaliveProbes: 3 } };

function unlimited(priority: RoutingPriority) {
  const many = 1_000_000;
  return { priority, maxConnections: many, maxPendingRequests: many, maxRequests: many, maxRetries: many };
}
