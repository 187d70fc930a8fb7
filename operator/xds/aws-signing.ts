import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack, type Any } from "@bufbuild/protobuf/wkt";
import { TypedExtensionConfigSchema } from "../../runtime/gen/envoy/config/core/v3/extension_pb.js";
import { AwsRequestSigningSchema } from "../../runtime/gen/envoy/extensions/filters/http/aws_request_signing/v3/aws_request_signing_pb.js";
import type { HttpFilterSchema } from "../../runtime/gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { overAds } from "./ads-source.ts";
import type { AwsCredential } from "./endpoint.ts";

export interface AwsKeys {
  id: string;
  secret: string;
  /** Null unless they are temporary. */
  session: string | null;
}

/** A filter with keys, as Envoy gets it over ECDS. Never to be logged. */
export interface AwsSigner {
  region: string;
  service: string;
  /** Host header of the requests. */
  host: string;
  keys: AwsKeys;
}

const FILTER = "envoy.filters.http.aws_request_signing";
const CONFIG_TYPE = `type.googleapis.com/${AwsRequestSigningSchema.typeName}`;

/**
 * Signs requests on their way to a server. Keys are not part of the cluster: without them, its earlier keys would leave Envoy with
 * it. Without keys, Envoy finds those of the machine or pod as AWS's SDKs do, and renews them.
 */
export function awsSigning({ region, service, keys }: AwsCredential, host: string): MessageInitShape<typeof HttpFilterSchema> {
  if (keys !== null)
    return {
      name: keys,
      configType: { case: "configDiscovery", value: { configSource: overAds(), typeUrls: [CONFIG_TYPE] } },
    };
  return { name: FILTER, configType: { case: "typedConfig", value: signing({ region, service, host, keys }) } };
}

/** The filter that a cluster with keys requests by this name. */
export function packSigner(name: string, signer: AwsSigner): Any {
  return anyPack(TypedExtensionConfigSchema, create(TypedExtensionConfigSchema, { name, typedConfig: signing(signer) }));
}

/** Signs host, path, query, body and the headers below; Envoy adds its own, with the time and the body's hash. */
function signing({ region, service, host, keys }: Omit<AwsSigner, "keys"> & { keys: AwsKeys | null }): Any {
  const config = create(AwsRequestSigningSchema, {
    serviceName: service,
    region,
    // The route replaces the client's Host as well, but only once there is a connection; the signature is made before.
    hostRewrite: host,
    // Others, such as user-agent, may be changed on the way by a proxy of the server's.
    matchIncludedHeaders: [{ matchPattern: { case: "exact", value: "content-type" } }],
    ...(keys === null ? {} : { credentialProvider: { inlineCredential: inlineCredential(keys) } }),
  });
  return anyPack(AwsRequestSigningSchema, config);
}

function inlineCredential({ id, secret, session }: AwsKeys) {
  return { accessKeyId: id, secretAccessKey: secret, ...(session === null ? {} : { sessionToken: session }) };
}
