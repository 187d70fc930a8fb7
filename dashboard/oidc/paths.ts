import type { ProviderId } from "./config.ts";

/** Where a browser leaves for a provider. */
export function startPath(id: ProviderId): string {
  return `/dashboard/${id}/start`;
}

/** The same for somebody with a session, who is to prove there who they are. */
export function againPath(id: ProviderId, next: string): string {
  return `${startPath(id)}?again=yes&next=${encodeURIComponent(next)}`;
}

/** Where it returns: a separate address for each provider, so that none can answer for another (RFC 9700, 4.4). */
export function callbackPath(id: ProviderId): string {
  return `/dashboard/${id}/callback`;
}
