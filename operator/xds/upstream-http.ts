import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack, durationFromMs, type Any } from "@bufbuild/protobuf/wkt";
import { CredentialInjectorSchema } from "../../runtime/gen/envoy/extensions/filters/http/credential_injector/v3/credential_injector_pb.js";
import { UpstreamCodecSchema } from "../../runtime/gen/envoy/extensions/filters/http/upstream_codec/v3/upstream_codec_pb.js";
import type { TypedExtensionConfigSchema } from "../../runtime/gen/envoy/config/core/v3/extension_pb.js";
import type { HttpFilterSchema } from "../../runtime/gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { GenericSchema } from "../../runtime/gen/envoy/extensions/http/injected_credentials/generic/v3/generic_pb.js";
import { HttpProtocolOptionsSchema } from "../../runtime/gen/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js";
import { overAds } from "./ads-source.ts";
import { UPSTREAM_STREAMS, UPSTREAM_WINDOW_BYTES } from "../bootstrap/buffers.ts";
import { awsSigning } from "./aws-signing.ts";
import { tokenCluster } from "../bootstrap/listeners/tokens.ts";
import { googleToken } from "./google-token.ts";
import { hostHeader, type Endpoint, type EndpointCredential, type HeaderCredential } from "./endpoint.ts";
import { oauthToken } from "./oauth-token.ts";
import { upstreamGuard } from "./upstream-guard.ts";

/**
 * How Envoy speaks HTTP to an upstream: version, reuse of connections, and the filters of every attempt: the address check, and
 * the credential.
 */
export function httpProtocolOptions(name: string, endpoint: Endpoint): Any {
  const { tls, credential, guard, pool } = endpoint;
  const filters = [
    ...(guard === null ? [] : [upstreamGuard(guard)]),
    ...(credential === null ? [] : [credentialFilter(credential, { name, host: hostHeader(endpoint) })]),
  ];
  const options = create(HttpProtocolOptionsSchema, {
    // Shorter than the keep-alive of common servers (5 s for a Python one, a minute at a provider): a request sent on a
    // connection that the server is just closing would fail, and must not be sent again, because it is billed.
    commonHttpProtocolOptions: { idleTimeout: durationFromMs(tls === null ? 4_000 : 50_000) },
    upstreamProtocolOptions:
      tls === null
        ? { case: "explicitHttpConfig", value: { protocolConfig: plainProtocol(pool?.isHttp2 ?? false) } }
        : { case: "autoConfig", value: { httpProtocolOptions: {}, http2ProtocolOptions } },
    httpFilters: filters.length === 0 ? [] : [...filters, codec()],
  });
  return anyPack(HttpProtocolOptionsSchema, options);
}

const http2ProtocolOptions = {
  maxConcurrentStreams: UPSTREAM_STREAMS,
  initialStreamWindowSize: UPSTREAM_WINDOW_BYTES,
  initialConnectionWindowSize: UPSTREAM_STREAMS * UPSTREAM_WINDOW_BYTES,
  connectionKeepalive: { interval: durationFromMs(30_000), timeout: durationFromMs(5_000) },
};

function plainProtocol(isHttp2: boolean) {
  if (isHttp2) return { case: "http2ProtocolOptions", value: http2ProtocolOptions } as const;
  return { case: "httpProtocolOptions", value: {} } as const;
}

/** The last filter before the wire, on each attempt. */
function credentialFilter(
  credential: EndpointCredential,
  { name, host }: { name: string; host: string },
): MessageInitShape<typeof HttpFilterSchema> {
  if ("aws" in credential) return awsSigning(credential.aws, host);
  if ("google" in credential) return injector(googleToken(credential.google));
  return injector("oauth" in credential ? oauthToken(credential.oauth, tokenCluster(name)) : headerFrom(credential));
}

/** A request is never sent without it. */
function injector(credential: MessageInitShape<typeof TypedExtensionConfigSchema>): MessageInitShape<typeof HttpFilterSchema> {
  const config = create(CredentialInjectorSchema, { overwrite: true, allowRequestWithoutCredential: false, credential });
  return {
    name: "envoy.filters.http.credential_injector",
    configType: { case: "typedConfig", value: anyPack(CredentialInjectorSchema, config) },
  };
}

/** It comes over SDS, and only Envoy sees it. */
function headerFrom({ header, secret }: HeaderCredential): MessageInitShape<typeof TypedExtensionConfigSchema> {
  const generic = create(GenericSchema, { header, credential: { name: secret, sdsConfig: overAds() } });
  return { name: "envoy.http.injected_credentials.generic", typedConfig: anyPack(GenericSchema, generic) };
}

function codec(): MessageInitShape<typeof HttpFilterSchema> {
  return {
    name: "envoy.filters.http.upstream_codec",
    configType: { case: "typedConfig", value: anyPack(UpstreamCodecSchema, create(UpstreamCodecSchema)) },
  };
}
