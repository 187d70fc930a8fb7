import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  TlsParameters_TlsProtocol as TlsProtocol,
  type TlsParametersSchema,
} from "../../runtime/gen/envoy/extensions/transport_sockets/tls/v3/common_pb.js";

/** Where Envoy connects to a server, its own default ends with TLS 1.2, and some servers accept TLS 1.3 alone. */
export const TLS_VERSIONS = {
  tlsMinimumProtocolVersion: TlsProtocol.TLSv1_2,
  tlsMaximumProtocolVersion: TlsProtocol.TLSv1_3,
} as const satisfies MessageInitShape<typeof TlsParametersSchema>;
