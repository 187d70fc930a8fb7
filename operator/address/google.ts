/** Where a backend may be that gets tokens of the gateway's identity at Google, and where those come from. */
export interface GoogleOptions {
  /** Metadata server of the machine or pod. */
  metadata: ServerAddress;
  /** Servers besides Vertex AI that may get tokens, by their names in a backend's address. */
  hosts: readonly string[];
}

export interface ServerAddress {
  host: string;
  port: number;
}

/** Where Google's metadata servers are, on its machines and in its clusters. */
export const GOOGLE_METADATA = "169.254.169.254";

/** @returns undefined for what is no `host` or `host:port`, as Google's own tools take it. */
export function parseMetadataHost(text: string): ServerAddress | undefined {
  const [, host, port = "80"] = /^([A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?)(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  return host === undefined || Number(port) < 1 || Number(port) > 65_535 ? undefined : { host, port: Number(port) };
}

/**
 * Why a backend may not have a token; null if it may. Whoever gets one can use the identity until the token expires, so the
 * Model's author must not choose.
 */
export function googleObjection(google: GoogleOptions | null, address: string): string | null {
  if (google === null)
    return "credential.google: must be allowed by the gateway's administrator, with operator.backends.google.enabled in the chart's values";
  const { protocol, hostname, port } = new URL(address);
  if (google.hosts.includes(hostname)) return null;
  if (protocol === "https:" && port === "" && VERTEX.test(hostname)) return null;
  return `url: ${hostname} is no address of Vertex AI such as https://europe-west1-aiplatform.googleapis.com, and others get tokens only if the gateway's administrator allows them, with operator.backends.google.hosts in the chart's values`;
}

/** Global, of a region, and of a jurisdiction. Not those of endpoints, behind which there may be anybody's program. */
const VERTEX = /^(?:(?:[a-z0-9-]+-)?aiplatform\.googleapis\.com|aiplatform\.[a-z0-9-]+\.rep\.googleapis\.com)$/;
