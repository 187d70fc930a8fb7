/** An origin of web pages, as browsers write it: a lower-case name, an IPv4 address or `[::1]`, and the port if it is not the scheme's own. */
export const WEB_ORIGIN =
  /^https?:\/\/([a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*|\[::1\])(:[1-9][0-9]{0,4})?$/;

/** The longest scheme, name and port. */
export const MAX_ORIGIN_CHARACTERS = "https://".length + 253 + ":65535".length;

type ParsedOrigin =
  | { kind: "origin"; origin: string }
  /** A path, a query or a user follows or precedes it: a page of the origin, and not all of them. */
  | { kind: "page"; origin: string }
  | { kind: "no origin" };

/** The canonical form of an origin that a person wrote: upper-case letters, a final slash and the scheme's own port are forgiven. */
export function parseWebOrigin(text: string): ParsedOrigin {
  const url = text.length <= MAX_ORIGIN_CHARACTERS ? URL.parse(text) : null;
  if (url === null || !WEB_ORIGIN.test(url.origin)) return { kind: "no origin" };
  return { kind: url.href === `${url.origin}/` ? "origin" : "page", origin: url.origin };
}
