import type { EnvoyConfig } from "../envoy-config.ts";
import { CLIENT_METADATA, CLIENT_PATH } from "./client-metadata.ts";

/**
 * One JSON line per request, to standard output or a file. It contains no header that can hold a credential and no query string,
 * because some clients put their key there.
 */
export function accessLog(path: string | undefined): EnvoyConfig {
  return path === undefined
    ? {
        name: "envoy.access_loggers.stdout",
        filter: isOver,
        typed_config: { "@type": `${TYPES}.stream.v3.StdoutAccessLog`, log_format: logFormat },
      }
    : {
        name: "envoy.access_loggers.file",
        filter: isOver,
        typed_config: { "@type": `${TYPES}.file.v3.FileAccessLog`, path, log_format: logFormat },
      };
}

/** Requests under way are reported elsewhere (held-answer-log.ts). */
const isOver: EnvoyConfig = { log_type_filter: { types: ["DownstreamPeriodic"], exclude: true } };

const TYPES = "type.googleapis.com/envoy.extensions.access_loggers";

const logFormat = {
  json_format: {
    time: "%START_TIME%",
    // The id that the client got; the processor's own, if it took part.
    request_id: "%RESP(X-REQUEST-ID)%",
    method: "%REQ(:METHOD)%",
    // As the client sent it: when logging, `:path` is the upstream's.
    path: `%DYNAMIC_METADATA(${CLIENT_METADATA}:${CLIENT_PATH})%`,
    protocol: "%PROTOCOL%",
    status: "%RESPONSE_CODE%",
    flags: "%RESPONSE_FLAGS%",
    details: "%RESPONSE_CODE_DETAILS%",
    connection_details: "%CONNECTION_TERMINATION_DETAILS%",
    upstream_cluster: "%UPSTREAM_CLUSTER%",
    upstream_host: "%UPSTREAM_HOST%",
    upstream_failure: "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
    attempts: "%UPSTREAM_REQUEST_ATTEMPT_COUNT%",
    duration_ms: "%DURATION%",
    request_ms: "%REQUEST_DURATION%",
    first_byte_ms: "%RESPONSE_DURATION%",
    request_bytes: "%BYTES_RECEIVED%",
    response_bytes: "%BYTES_SENT%",
    client: "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
  },
};
