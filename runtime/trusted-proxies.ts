import * as z from "zod";
import { createAddressSet, parseNetwork } from "./ip-network.ts";

/** The proxies in front of Envoy whose `x-forwarded-for` is trusted. */
export interface TrustedProxies {
  /** Number of proxies that each request passes. */
  hops: number;
  /** Networks of such proxies, in CIDR notation. */
  networks: readonly string[];
}

/** Variables of a process. */
export const TRUSTED_PROXY_VARIABLES = {
  TRUSTED_PROXY_HOPS: z.coerce.number().int().min(0).max(10).default(0),
  TRUSTED_PROXY_NETWORKS: z
    .string()
    .default("")
    .transform((text) => text.split(",").flatMap((each) => (each.trim() === "" ? [] : [each.trim()])))
    .pipe(z.array(z.string().refine(isNetwork, "must be networks such as 10.0.0.0/8,fd00::/8, each from its first address"))),
};

/** `10.1.2.3/8` may stand for one proxy, and would trust sixteen million. */
function isNetwork(text: string): boolean {
  return text.includes("/") && parseNetwork(text).kind === "network";
}

export function trustedProxies(environment: { TRUSTED_PROXY_HOPS: number; TRUSTED_PROXY_NETWORKS: string[] }): TrustedProxies {
  const { TRUSTED_PROXY_HOPS: hops, TRUSTED_PROXY_NETWORKS: networks } = environment;
  if (hops > 0 && networks.length > 0)
    throw new Error("TRUSTED_PROXY_HOPS and TRUSTED_PROXY_NETWORKS cannot be combined: set only one of them.");
  return { hops, networks };
}

/** Hop 0 is Envoy, hop 1 the peer that connected to Envoy. */
export type IsTrustedHop = (address: string, hop: number) => boolean;

/** Which addresses to trust. The first address that is not trusted is the client's. */
export function isTrustedHop({ hops, networks }: TrustedProxies): IsTrustedHop {
  const set = createAddressSet(networks);
  // Anyone can send this header with any content.
  return (address, hop) => hop <= hops || set.has(address);
}

/**
 * The addresses of `x-forwarded-for` alone: some proxies append the port too, and each connection of a client would count as another
 * client.
 */
export function withoutPorts(forwarded: string): string {
  return forwarded.split(",").map(withoutPort).join(", ");
}

/** `203.0.113.9:51234`, `[2001:db8::9]:51234`, and `[2001:db8::9]`. */
const WITH_PORT = /^(?:(\d+\.\d+\.\d+\.\d+)|\[([^[\]]+)\])(?::\d{1,5})?$/;

function withoutPort(entry: string): string {
  const text = entry.trim();
  const [, ipv4, ipv6] = WITH_PORT.exec(text) ?? [];
  return ipv4 ?? ipv6 ?? text;
}

/**
 * The address of the client. Everything before the last entry is as the client sent it, unless a trusted proxy wrote it.
 * @param forwarded `x-forwarded-for` as Envoy passes it on: Envoy has appended its peer.
 */
export function clientAddress(forwarded: string, isTrusted: IsTrustedHop): string {
  const addresses = forwarded.split(",").map(withoutPort);
  for (let hop = 1; hop < addresses.length; hop++) {
    const address = addresses[addresses.length - hop] ?? "";
    if (!isTrusted(address, hop)) return address;
  }
  return addresses[0] ?? "";
}
