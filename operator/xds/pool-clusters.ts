import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack, durationFromMs } from "@bufbuild/protobuf/wkt";
import {
  Cluster_DiscoveryType as DiscoveryType,
  ClusterSchema,
  type Cluster,
  type LoadBalancingPolicySchema,
} from "../../runtime/gen/envoy/config/cluster/v3/cluster_pb.js";
import type { TransportSocketSchema } from "../../runtime/gen/envoy/config/core/v3/base_pb.js";
import type { ClusterLoadAssignmentSchema } from "../../runtime/gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { RoundRobinSchema } from "../../runtime/gen/envoy/extensions/load_balancing_policies/round_robin/v3/round_robin_pb.js";
import { OverrideHostSchema } from "../../runtime/gen/envoy/extensions/load_balancing_policies/override_host/v3/override_host_pb.js";
import { UpstreamTlsContextSchema } from "../../runtime/gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import { HttpProtocolOptionsSchema } from "../../runtime/gen/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js";
import { CONNECTION_BUFFER_BYTES, INTERNAL_BUFFER_BYTES } from "../bootstrap/buffers.ts";
import { PICKED, POOLS_LISTENER } from "../bootstrap/listeners/pools.ts";
import { overAds } from "./ads-source.ts";
import { KEPT_ALIVE, UNLIMITED } from "./cluster.ts";
import type { Endpoint, EndpointPool } from "./endpoint.ts";
import { poolHost } from "./pool-host.ts";
import { TLS_VERSIONS } from "./tls-versions.ts";
import { httpProtocolOptions } from "./upstream-http.ts";

/** The clusters of a pool: `name`, which extproc knows, leads to the listener that asks the picker; the other two are behind it. */
export function poolClusters(name: string, endpoint: Endpoint, pool: EndpointPool): Cluster[] {
  return [entryCluster(name), pods(name, endpoint), picker(name, pool)];
}

export function podsCluster(name: string): string {
  return `${name}/pods`;
}

export function pickerCluster(name: string): string {
  return `${name}/picker`;
}

function entryCluster(name: string): Cluster {
  return create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: DiscoveryType.STATIC },
    connectTimeout: durationFromMs(1_000),
    perConnectionBufferLimitBytes: INTERNAL_BUFFER_BYTES,
    loadAssignment: oneHost(name, {
      // The listener's routes go by it.
      hostname: poolHost(name),
      address: {
        address: {
          case: "envoyInternalAddress",
          value: { addressNameSpecifier: { case: "serverListenerName", value: POOLS_LISTENER } },
        },
      },
    }),
    circuitBreakers: UNLIMITED,
    typedExtensionProtocolOptions: protocol({
      case: "explicitHttpConfig",
      value: { protocolConfig: { case: "httpProtocolOptions", value: {} } },
    }),
  });
}

function pods(name: string, endpoint: Endpoint): Cluster {
  return create(ClusterSchema, {
    name: podsCluster(name),
    clusterDiscoveryType: { case: "type", value: DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: overAds() },
    connectTimeout: durationFromMs(endpoint.connectTimeoutMs),
    perConnectionBufferLimitBytes: CONNECTION_BUFFER_BYTES,
    loadBalancingPolicy: asPicked(),
    circuitBreakers: UNLIMITED,
    upstreamConnectionOptions: KEPT_ALIVE,
    typedExtensionProtocolOptions: {
      "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": httpProtocolOptions(podsCluster(name), endpoint),
    },
  });
}

/** The pod that the picker names if it is one of the pool's that are ready, otherwise the next one it names, otherwise all in turn. */
function asPicked(): MessageInitShape<typeof LoadBalancingPolicySchema> {
  const metadata = (key: string) => ({ key: PICKED.namespace, path: [{ segment: { case: "key" as const, value: key } }] });
  const policy = create(OverrideHostSchema, {
    overrideHostSources: [{ metadata: metadata(PICKED.endpoint) }, { header: PICKED.endpoint }],
    selectedHostKey: metadata(PICKED.served),
    fallbackPolicy: {
      policies: [
        {
          typedExtensionConfig: {
            name: "envoy.load_balancing_policies.round_robin",
            typedConfig: anyPack(RoundRobinSchema, create(RoundRobinSchema)),
          },
        },
      ],
    },
  });
  return {
    policies: [
      {
        typedExtensionConfig: {
          name: "envoy.load_balancing_policies.override_host",
          typedConfig: anyPack(OverrideHostSchema, policy),
        },
      },
    ],
  };
}

function picker(name: string, { picker: { host, port, isTls, failsOpen } }: EndpointPool): Cluster {
  return create(ClusterSchema, {
    name: pickerCluster(name),
    clusterDiscoveryType: { case: "type", value: DiscoveryType.STATIC },
    connectTimeout: durationFromMs(1_000),
    perConnectionBufferLimitBytes: CONNECTION_BUFFER_BYTES,
    loadAssignment: oneHost(pickerCluster(name), {
      address: {
        address: { case: "socketAddress", value: { address: host, portSpecifier: { case: "portValue", value: port } } },
      },
    }),
    circuitBreakers: UNLIMITED,
    ...(failsOpen ? CONNECTIONS_TRIED : {}),
    upstreamConnectionOptions: KEPT_ALIVE,
    transportSocket: isTls ? unverifiedTls() : undefined,
    typedExtensionProtocolOptions: protocol({
      case: "explicitHttpConfig",
      value: {
        protocolConfig: {
          case: "http2ProtocolOptions",
          // Asked before the first stream after a pause. Asking all the time would make a Go server end the connection.
          value: { connectionKeepalive: { connectionIdleInterval: durationFromMs(3_000), timeout: durationFromMs(3_000) } },
        },
      },
    }),
  });
}

/**
 * Once Envoy has sent a request's body to a picker, it cannot go on without it. So whether there is one must be known before: then
 * the call does not start, and the request goes to any pod.
 */
const CONNECTIONS_TRIED = {
  healthChecks: [
    {
      timeout: durationFromMs(1_000),
      interval: durationFromMs(1_000),
      noTrafficInterval: durationFromMs(1_000),
      unhealthyThreshold: 1,
      healthyThreshold: 1,
      healthChecker: { case: "tcpHealthCheck" as const, value: {} },
    },
  ],
  commonLbConfig: { healthyPanicThreshold: { value: 0 } },
};

/** Pickers make their certificates themselves, at each start, so there is nothing to verify them by. */
function unverifiedTls(): MessageInitShape<typeof TransportSocketSchema> {
  const context = create(UpstreamTlsContextSchema, { commonTlsContext: { tlsParams: TLS_VERSIONS, alpnProtocols: ["h2"] } });
  return {
    name: "envoy.transport_sockets.tls",
    configType: { case: "typedConfig", value: anyPack(UpstreamTlsContextSchema, context) },
  };
}

type Assignment = MessageInitShape<typeof ClusterLoadAssignmentSchema>;
type Host = Extract<
  NonNullable<NonNullable<NonNullable<Assignment["endpoints"]>[number]["lbEndpoints"]>[number]["hostIdentifier"]>,
  { case: "endpoint" }
>["value"];

function oneHost(clusterName: string, value: Host): Assignment {
  return { clusterName, endpoints: [{ lbEndpoints: [{ hostIdentifier: { case: "endpoint", value } }] }] };
}

function protocol(upstreamProtocolOptions: MessageInitShape<typeof HttpProtocolOptionsSchema>["upstreamProtocolOptions"]) {
  const options = create(HttpProtocolOptionsSchema, { upstreamProtocolOptions });
  return { "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": anyPack(HttpProtocolOptionsSchema, options) };
}
