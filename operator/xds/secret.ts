import { create } from "@bufbuild/protobuf";
import { anyPack, type Any } from "@bufbuild/protobuf/wkt";
import { packSigner, type AwsSigner } from "./aws-signing.ts";
import { SecretSchema } from "../../runtime/gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";

/** What Envoy gets over SDS or, for signing, over ECDS, by name. Values must never reach a log or an error. */
export type SecretContent =
  /** A header's whole value, including `Bearer ` if the header needs it; or a client's secret alone. */
  | { kind: "credential"; headerValue: string }
  /** Certificates in PEM for verifying upstreams. */
  | { kind: "roots"; pem: string }
  /** A filter with keys. */
  | { kind: "signer"; signer: AwsSigner };

export function packSecret(name: string, content: SecretContent): Any {
  switch (content.kind) {
    case "credential":
      return anyPack(
        SecretSchema,
        create(SecretSchema, {
          name,
          type: {
            case: "genericSecret",
            value: { secret: { specifier: { case: "inlineString", value: content.headerValue } } },
          },
        }),
      );
    case "roots":
      return anyPack(
        SecretSchema,
        create(SecretSchema, {
          name,
          type: {
            case: "validationContext",
            value: { trustedCa: { specifier: { case: "inlineString", value: content.pem } } },
          },
        }),
      );
    case "signer":
      return packSigner(name, content.signer);
  }
}
