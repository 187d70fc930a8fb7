import type { TraceCollector } from "../operator/bootstrap/filters/tracing.ts";

/**
 * Where spans go, from OTEL_EXPORTER_OTLP_ENDPOINT; undefined where that is unset or empty.
 * @throws Error with one sentence where it is no address that Envoy sends spans to.
 */
export function readTraceCollector(address: string | undefined): TraceCollector | undefined {
  if (address === undefined || address === "") return undefined;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== "http:" || url.pathname !== "/")
    throw new Error("OTEL_EXPORTER_OTLP_ENDPOINT must be http://host:port: spans are sent to /v1/traces there, without TLS.");
  return { host: url.hostname, port: url.port === "" ? 80 : Number(url.port), percent: 100 };
}
