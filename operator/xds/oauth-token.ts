import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack, durationFromMs } from "@bufbuild/protobuf/wkt";
import type { TypedExtensionConfigSchema } from "../../runtime/gen/envoy/config/core/v3/extension_pb.js";
import {
  OAuth2_AuthType as AuthType,
  OAuth2Schema,
} from "../../runtime/gen/envoy/extensions/http/injected_credentials/oauth2/v3/oauth2_pb.js";
import { TOKEN_TIMEOUT_MS, TOKENS_CLUSTER } from "../bootstrap/listeners/tokens.ts";
import { overAds } from "./ads-source.ts";
import type { OauthCredential } from "./endpoint.ts";

export function oauthToken({ tokenUrl, clientId, secret, scopes }: OauthCredential, cluster: string) {
  return fetchedToken({ cluster, path: new URL(tokenUrl).pathname, scopes, clientId, secret });
}

export interface FetchedToken {
  /** Of the server that issues it. */
  cluster: string;
  path: string;
  scopes: readonly string[];
  clientId: string;
  /** Name of the SDS secret with the client's secret. */
  secret: string;
}

/**
 * A bearer token, which Envoy fetches when it gets the cluster, and renews before it expires; not at a request. Without one, a
 * request is answered with 401 (`failed_to_inject_credential`).
 */
export function fetchedToken({
  cluster,
  path,
  scopes,
  clientId,
  secret,
}: FetchedToken): MessageInitShape<typeof TypedExtensionConfigSchema> {
  const oauth = create(OAuth2Schema, {
    tokenEndpoint: {
      // The listener that it passes through sends it to this cluster, with the server's name as its host.
      uri: `http://${cluster}${path}`,
      httpUpstreamType: { case: "cluster", value: TOKENS_CLUSTER },
      timeout: durationFromMs(TOKEN_TIMEOUT_MS),
    },
    scopes: [...scopes],
    flowType: {
      case: "clientCredentials",
      value: {
        clientId,
        clientSecret: { name: secret, sdsConfig: overAds() },
        // Envoy 1.40 sends them in the form in any case: its BASIC_AUTH makes no difference.
        authType: AuthType.URL_ENCODED_BODY,
      },
    },
    // The shortest that Envoy allows: until its first token, a backend refuses requests.
    tokenFetchRetryInterval: durationFromMs(1_000),
  });
  return { name: "envoy.http.injected_credentials.oauth2", typedConfig: anyPack(OAuth2Schema, oauth) };
}
