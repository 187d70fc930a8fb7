import type { EnvoyConfig } from "../envoy-config.ts";

export interface ClientTls {
  /** File with what `clientTlsSecret` builds. */
  secretFile: string;
  /** Contains `tls.crt` and `tls.key`, like a mounted Secret of type kubernetes.io/tls. */
  certificateDirectory: string;
}

const NAME = "clients";

/** TLS for clients. The certificate comes from a file of secrets: only then does Envoy start using a renewed one. */
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

/** Content of the secret file. Envoy reads the certificate again when its directory's content is replaced. */
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
