import type { EnvoyConfig } from "../envoy-config.ts";

export interface ClientTls {
  /** File with what `clientTlsSecret` builds. */
  secretFile: string;
  /** Holds `tls.crt` and `tls.key`, as a Secret of type kubernetes.io/tls does when it is mounted. */
  certificateDirectory: string;
}

const NAME = "clients";

/** TLS towards clients. The certificate comes by a file of secrets: only so does Envoy take over a renewed one. */
export function clientTransport({ secretFile }: ClientTls): EnvoyConfig {
  return {
    name: "envoy.transport_sockets.tls",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
      common_tls_context: {
        tls_params: { tls_minimum_protocol_version: "TLSv1_2" },
        alpn_protocols: ["h2", "http/1.1"],
        tls_certificate_sds_secret_configs: [
          { name: NAME, sds_config: { path_config_source: { path: secretFile }, resource_api_version: "V3" } },
        ],
      },
    },
  };
}

/** Content of the secret file. Envoy reads the certificate again when its directory's content is exchanged. */
export function clientTlsSecret({ certificateDirectory }: ClientTls): EnvoyConfig {
  return {
    resources: [
      {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret",
        name: NAME,
        tls_certificate: {
          certificate_chain: { filename: `${certificateDirectory}/tls.crt` },
          private_key: { filename: `${certificateDirectory}/tls.key` },
          watched_directory: { path: certificateDirectory },
        },
      },
    ],
  };
}
