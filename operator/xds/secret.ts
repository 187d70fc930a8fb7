import { create } from "@bufbuild/protobuf";
import { anyPack, type Any } from "@bufbuild/protobuf/wkt";
import { packSigner, type AwsSigner } from "./aws-signing.ts";
import { SecretSchema } from "../../runtime/gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";

/** What Envoy gets over SDS or, for signing, over ECDS, by name. Values must never reach a log or an error. */
export type SecretContent =
  /** A header's whole value, including `Bearer ` if the header needs it; or a client's secret alone. */
  | { kind: "credential"; headerValue: string }
  /** Certificates in PEM for verifying upstreams. With a probe, an Envoy shows whether it can read them, and never uses them. */
  | { kind: "roots"; pem: string; isProbe?: boolean }
  /** A filter with keys. */
  | { kind: "signer"; signer: AwsSigner };

/** Envoy reads it after the certificates, and rejects the secret. Text without any list would be taken for no revocations. */
const BROKEN_CRL = "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n";

export function packSecret(name: string, content: SecretContent): Any {
  switch (content.kind) {
    case "credential":
      return anyPack(
        SecretSchema,
        create(SecretSchema, {
          name,
          type: {
            case: "genericSecret",
            value: { secret: inline(content.headerValue) },
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
            value: { trustedCa: inline(content.pem), ...(content.isProbe === true && { crl: inline(BROKEN_CRL) }) },
          },
        }),
      );
    case "signer":
      return packSigner(name, content.signer);
  }
}

function inline(value: string) {
  return { specifier: { case: "inlineString", value } } as const;
}
