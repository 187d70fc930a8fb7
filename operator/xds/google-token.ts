import { METADATA_CLUSTER } from "../bootstrap/listeners/tokens.ts";
import type { GoogleCredential } from "./endpoint.ts";
import { fetchedToken } from "./oauth-token.ts";

/** Without it, a machine's tokens have the scopes that were chosen for the machine; pods' have this one in any case. */
const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const PATH = `/computeMetadata/v1/instance/service-accounts/default/token?scopes=${SCOPE}`;

/** The metadata server answers as OAuth does; the listener for tokens makes the request that it expects. */
export function googleToken({ secret }: GoogleCredential) {
  return fetchedToken({ cluster: METADATA_CLUSTER, path: PATH, scopes: [], clientId: "unused", secret });
}
