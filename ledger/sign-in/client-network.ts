import { isIPv4, isIPv6 } from "node:net";
import { groupsOf } from "../../runtime/ip-network.ts";

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
  const [withoutZone = ""] = mapped.split("%");
  if (!isIPv6(withoutZone)) return { address, network: address };
  const groups = groupsOf(withoutZone);
  return { address: `${groups.slice(0, 4).join(":")}::/64`, network: `${groups.slice(0, 3).join(":")}::/48` };
}
