import type { TraceCollector } from "../operator/bootstrap/filters/tracing.ts";

/**
 * The target of spans, from OTEL_EXPORTER_OTLP_ENDPOINT; undefined if that is unset or empty.
 * @throws Error with one sentence if Envoy cannot send spans to the address.
 */
export function readTraceCollector(address: string | undefined): TraceCollector | undefined {
  if (address === undefined || address === "") return undefined;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== "http:" || url.pathname !== "/")
    throw new Error("OTEL_EXPORTER_OTLP_ENDPOINT must be http://host:port: spans are sent to /v1/traces there, without TLS.");
  return { host: url.hostname, port: url.port === "" ? 80 : Number(url.port), percent: 100 };
}
