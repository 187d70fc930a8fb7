import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { isIP } from "node:net";
import type { TransportSocketSchema } from "../../runtime/gen/envoy/config/core/v3/base_pb.js";
import { SubjectAltNameMatcher_SanType as SanType } from "../../runtime/gen/envoy/extensions/transport_sockets/tls/v3/common_pb.js";
import { UpstreamTlsContextSchema } from "../../runtime/gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import { overAds } from "./ads-source.ts";
import type { EndpointTls } from "./endpoint.ts";
import { TLS_VERSIONS } from "./tls-versions.ts";

/** TLS to an upstream: its name is sent as SNI, and its certificate must be issued for that name by a trusted root. */
export function upstreamTls({ serverName, rootsSecret }: EndpointTls): MessageInitShape<typeof TransportSocketSchema> {
  const isAddress = isIP(serverName) > 0;
  const context = create(UpstreamTlsContextSchema, {
    // An address is not a name: SNI must not carry one.
    sni: isAddress ? "" : serverName,
    commonTlsContext: {
      tlsParams: TLS_VERSIONS,
      alpnProtocols: ["h2", "http/1.1"],
      validationContextType: {
        case: "combinedValidationContext",
        value: {
          defaultValidationContext: {
            matchTypedSubjectAltNames: [
              {
                sanType: isAddress ? SanType.IP_ADDRESS : SanType.DNS,
                matcher: { matchPattern: { case: "exact", value: serverName } },
              },
            ],
          },
          validationContextSdsSecretConfig: { name: rootsSecret, sdsConfig: overAds() },
        },
      },
    },
  });
  return {
    name: "envoy.transport_sockets.tls",
    configType: { case: "typedConfig", value: anyPack(UpstreamTlsContextSchema, context) },
  };
}
