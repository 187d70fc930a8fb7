import { SPAN_ATTRIBUTES, SPAN_METADATA } from "../../../contract/span-attributes.ts";
import { CLIENT_METADATA, CLIENT_PATH } from "./client-metadata.ts";
import type { EnvoyConfig } from "../envoy-config.ts";
import { socketAddress, type SocketAddress } from "../socket-address.ts";

/** The OTLP/HTTP collector, and the share of requests. */
export interface TraceCollector extends SocketAddress {
  /** Share of the requests whose client does not decide about tracing. */
  percent: number;
}

export const TRACES_CLUSTER = "traces";

/**
 * Envoy's own tracer, for the connection manager of one listener. A trace that the client began is continued, otherwise one
 * begins here.
 * @param attempts whether upstream requests have separate spans.
 */
export function tracing(
  { host, port, percent }: TraceCollector,
  { hasUpstreamSpans }: { hasUpstreamSpans: boolean },
): EnvoyConfig {
  return {
    provider: {
      name: "envoy.tracers.opentelemetry",
      typed_config: {
        "@type": "type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig",
        service_name: "model-gateway",
        http_service: { http_uri: { uri: `http://${host}:${port}/v1/traces`, cluster: TRACES_CLUSTER, timeout: "5s" } },
      },
    },
    random_sampling: { value: percent },
    // Envoy's own way to request a trace, which our clients do not have.
    client_sampling: { value: 0 },
    spawn_upstream_span: hasUpstreamSpans,
    // Some clients put their key into the query, and Envoy's own tag contains it: the path is set below.
    max_path_tag_length: 1,
    custom_tags: [
      metadataTag("url.path", { namespace: CLIENT_METADATA, key: CLIENT_PATH }),
      ...SPAN_ATTRIBUTES.map((attribute) => metadataTag(attribute, { namespace: SPAN_METADATA, key: attribute })),
    ],
  };
}

/** Read when the span ends; omitted if nothing was reported. */
function metadataTag(tag: string, { namespace, key }: { namespace: string; key: string }): EnvoyConfig {
  return { tag, metadata: { kind: { request: {} }, metadata_key: { key: namespace, path: [{ key }] } } };
}

export function tracesCluster({ host, port }: SocketAddress): EnvoyConfig {
  return {
    name: TRACES_CLUSTER,
    type: "STRICT_DNS",
    connect_timeout: "2s",
    load_assignment: {
      cluster_name: TRACES_CLUSTER,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: socketAddress({ host, port }) } }] }],
    },
  };
}
