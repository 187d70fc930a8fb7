import { BlockList, isIPv6 } from "node:net";
import * as z from "zod";

/** The proxies in front of Envoy whose `x-forwarded-for` is trusted. */
export interface TrustedProxies {
  /** Number of proxies that each request passes. */
  hops: number;
  /** Networks of such proxies, in CIDR notation. */
  networks: readonly string[];
}

/** Variables of the process. */
export const TRUSTED_PROXY_VARIABLES = {
  TRUSTED_PROXY_HOPS: z.coerce.number().int().min(0).max(10).default(0),
  TRUSTED_PROXY_NETWORKS: z
    .string()
    .default("")
    .transform((text) => text.split(",").flatMap((each) => (each.trim() === "" ? [] : [each.trim()])))
    .pipe(z.array(z.union([z.cidrv4(), z.cidrv6()], "must be networks such as 10.0.0.0/8,fd00::/8"))),
};

export function trustedProxies(environment: { TRUSTED_PROXY_HOPS: number; TRUSTED_PROXY_NETWORKS: string[] }): TrustedProxies {
  const { TRUSTED_PROXY_HOPS: hops, TRUSTED_PROXY_NETWORKS: networks } = environment;
  if (hops > 0 && networks.length > 0)
    throw new Error("TRUSTED_PROXY_HOPS and TRUSTED_PROXY_NETWORKS cannot be combined: set only one of them.");
  return { hops, networks };
}

/**
 * Which addresses to trust. The first address that is not trusted is the client's.
 * @returns as fastify expects: hop 0 is Envoy, the only one that reaches this process; hop 1 is the peer that connected to Envoy.
 */
export function isTrustedHop({ hops, networks }: TrustedProxies): (address: string, hop: number) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return (address, hop) => {
    if (hop <= hops) return true;
    const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
    return networks.length > 0 && isAddress(plain) && list.check(plain, familyOf(plain));
  };
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}

/** Anyone can send this header with any content. */
function isAddress(text: string): boolean {
  return z.union([z.ipv4(), z.ipv6()]).safeParse(text).success;
}
