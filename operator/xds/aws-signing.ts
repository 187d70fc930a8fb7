import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { AwsRequestSigningSchema } from "../../runtime/gen/envoy/extensions/filters/http/aws_request_signing/v3/aws_request_signing_pb.js";
import type { HttpFilterSchema } from "../../runtime/gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import type { AwsCredential, AwsKeys } from "./endpoint.ts";

/**
 * Signs host, path, query, body and the headers below; Envoy adds its own, with the time and the body's hash. Without keys, it
 * finds those of the machine or pod as AWS's SDKs do, and renews them.
 */
export function awsSigning({ region, service, keys }: AwsCredential, host: string): MessageInitShape<typeof HttpFilterSchema> {
  const config = create(AwsRequestSigningSchema, {
    serviceName: service,
    region,
    // The route replaces the client's Host as well, but only once there is a connection; the signature is made before.
    hostRewrite: host,
    // Others, such as user-agent, may be changed on the way by a proxy of the server's.
    matchIncludedHeaders: [{ matchPattern: { case: "exact", value: "content-type" } }],
    ...(keys === null ? {} : { credentialProvider: { inlineCredential: inlineCredential(keys) } }),
  });
  return {
    name: "envoy.filters.http.aws_request_signing",
    configType: { case: "typedConfig", value: anyPack(AwsRequestSigningSchema, config) },
  };
}

function inlineCredential({ id, secret, session }: AwsKeys) {
  return { accessKeyId: id, secretAccessKey: secret, ...(session === null ? {} : { sessionToken: session }) };
}
