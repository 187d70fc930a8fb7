import { isIP } from "node:net";
import type { EnvoyConfig } from "../envoy-config.ts";

/** How this Envoy authenticates to the gateway's other parts, and verifies them. */
export interface InternalTls {
  /** Files with what `internalTlsSecrets` builds: one secret each, because Envoy reads only one per file. */
  certificateFile: string;
  authorityFile: string;
  /** Contains `ca.crt`, `tls.crt` and `tls.key`, like a mounted Secret of cert-manager. */
  directory: string;
}

const CERTIFICATE = "internal certificate";
const AUTHORITY = "internal authority";

/** For a cluster that is a part of the gateway: its certificate must be from the gateway's authority, and issued for its name. */
export function internalTransport(
  { certificateFile, authorityFile }: InternalTls,
  { serverName, protocol }: { serverName: string; protocol: "h2" | "http/1.1" },
): EnvoyConfig {
  const isAddress = isIP(serverName) > 0;
  return {
    name: "envoy.transport_sockets.tls",
    typed_config: {
      "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
      // An address is not a name: SNI must not carry one.
      ...(isAddress ? {} : { sni: serverName }),
      common_tls_context: {
        tls_params: { tls_minimum_protocol_version: "TLSv1_3", tls_maximum_protocol_version: "TLSv1_3" },
        alpn_protocols: [protocol],
        tls_certificate_sds_secret_configs: [fromFile(CERTIFICATE, certificateFile)],
        combined_validation_context: {
          default_validation_context: {
            match_typed_subject_alt_names: [{ san_type: isAddress ? "IP_ADDRESS" : "DNS", matcher: { exact: serverName } }],
          },
          validation_context_sds_secret_config: fromFile(AUTHORITY, authorityFile),
        },
      },
    },
  };
}

/** Contents of the two files. Envoy reads certificates again when their directory's content is replaced. */
export function internalTlsSecrets({ directory }: Pick<InternalTls, "directory">): {
  certificate: EnvoyConfig;
  authority: EnvoyConfig;
} {
  const watched_directory = { path: directory };
  return {
    certificate: secret(CERTIFICATE, {
      tls_certificate: {
        certificate_chain: { filename: `${directory}/tls.crt` },
        private_key: { filename: `${directory}/tls.key` },
        watched_directory,
      },
    }),
    authority: secret(AUTHORITY, {
      validation_context: { trusted_ca: { filename: `${directory}/ca.crt` }, watched_directory },
    }),
  };
}

function secret(name: string, content: EnvoyConfig): EnvoyConfig {
  return {
    resources: [{ "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret", name, ...content }],
  };
}

function fromFile(name: string, path: string): EnvoyConfig {
  return { name, sds_config: { path_config_source: { path }, resource_api_version: "V3" } };
}
