import { isIPv4, isIPv6 } from "node:net";

export interface ClientNetwork {
  /** What one customer of a provider has: an IPv4 address, or an IPv6 /64. */
  address: string;
  /** What one organization has: an IPv4 /24, or an IPv6 /48. */
  network: string;
}

/** @param address as the proxy in front reports it; an invalid address is its own network. */
export function clientNetwork(address: string): ClientNetwork {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
  if (isIPv4(mapped)) return { address: mapped, network: `${mapped.split(".").slice(0, 3).join(".")}.0/24` };
  const groups = groupsOf(mapped);
  if (groups === undefined) return { address, network: address };
  return { address: `${groups.slice(0, 4).join(":")}::/64`, network: `${groups.slice(0, 3).join(":")}::/48` };
}

/** The eight groups of an IPv6 address, as short as they are written. */
function groupsOf(address: string): string[] | undefined {
  const [withoutZone = ""] = address.split("%");
  if (!isIPv6(withoutZone)) return undefined;
  const [head = "", tail] = new URL(`http://[${withoutZone}]/`).hostname.slice(1, -1).split("::");
  const first = head === "" ? [] : head.split(":");
  if (tail === undefined) return first;
  const last = tail === "" ? [] : tail.split(":");
  return [...first, ...Array<string>(8 - first.length - last.length).fill("0"), ...last];
}
