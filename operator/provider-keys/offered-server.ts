import { createHash } from "node:crypto";
import type { Backend } from "../../contract/catalogue.ts";
import type { BackendResource } from "../model/backend-resource.ts";
import { credentialHeaderOf, type CredentialForm } from "../model/credential-header-of.ts";
import type { Endpoint } from "../xds/endpoint.ts";

/** A server that takes accounts' own keys, without any. Backends of several Models may share it. */
export interface OfferedServer extends NonNullable<Backend["providerKey"]> {
  server: Endpoint;
  header: string;
  form: CredentialForm;
}

/** @returns undefined if the backend takes none. */
export function offeredServer(resource: BackendResource, endpoint: Endpoint): OfferedServer | undefined {
  const { bringYourOwnKey, url } = resource;
  if (bringYourOwnKey === undefined || url === undefined) return undefined;
  const { name: header, form } = credentialHeaderOf(resource);
  const server: Endpoint = { ...endpoint, credential: null };
  const digest = createHash("sha256")
    .update(JSON.stringify([server, header]))
    .digest("hex")
    .slice(0, 16);
  return { provider: bringYourOwnKey.provider, origin: new URL(url).origin, endpoint: digest, server, header, form };
}
