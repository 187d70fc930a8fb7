import { BlockList, isIPv4, isIPv6 } from "node:net";

export type ParsedNetwork =
  /** In the one form that all spellings of it have: `10.0.0.0/8`, `2001:db8::1`. */
  | { kind: "network"; network: string }
  | { kind: "no network" }
  /** A range that begins before its address, and what may be meant instead. */
  | { kind: "wider"; range: string; address: string };

/** The longest spelling of a network. */
export const MAX_NETWORK_CHARACTERS = 49;

const PREFIX_FORM = /^(0|[1-9]\d{0,2})$/;

/**
 * Reads an IP address, or a range in CIDR notation. `10.1.2.3/8` may stand for one host or for sixteen million, so it is not taken
 * for either.
 */
export function parseNetwork(text: string): ParsedNetwork {
  const [written = "", prefix, ...more] = text.split("/");
  const address = plainAddress(written);
  // An IPv4 address in the spelling of IPv6 would have two prefixes.
  if (address === null || isIPv4(address) !== isIPv4(written) || more.length > 0) return { kind: "no network" };
  if (prefix === undefined) return { kind: "network", network: address };
  const bits = isIPv4(address) ? 32 : 128;
  const length = Number(prefix);
  if (!PREFIX_FORM.test(prefix) || length > bits) return { kind: "no network" };
  const first = firstOf(address, length);
  if (first !== address) return { kind: "wider", range: `${first}/${length}`, address };
  return { kind: "network", network: length === bits ? address : `${address}/${length}` };
}

/** In its canonical form, IPv4 also if it is mapped into IPv6; null if it is no address. */
export function plainAddress(text: string): string | null {
  const plain = text.replace(/^::ffff:(?=\d+\.)/i, "");
  if (isIPv4(plain)) return plain;
  // A zone is known only to the machine that wrote it.
  if (!isIPv6(plain) || plain.includes("%")) return null;
  const address = canonical(plain);
  const [, high = "", low = ""] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(address) ?? [];
  if (high === "") return address;
  return [high, low].flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]).join(".");
}

/** The eight groups of an IPv6 address, in hexadecimal. */
export function groupsOf(address: string): string[] {
  const [head = "", tail] = canonical(address).split("::");
  const first = head === "" ? [] : head.split(":");
  if (tail === undefined) return first;
  const last = tail === "" ? [] : tail.split(":");
  return [...first, ...Array<string>(8 - first.length - last.length).fill("0"), ...last];
}

/** As RFC 5952 writes it. */
function canonical(address: string): string {
  return new URL(`http://[${address}]/`).hostname.slice(1, -1);
}

/** The first address of the range that contains this one. */
function firstOf(address: string, length: number): string {
  if (isIPv4(address)) return withoutRest(address.split(".").map(Number), { width: 8, length }).join(".");
  const groups = groupsOf(address).map((group) => Number.parseInt(group, 16));
  return canonical(
    withoutRest(groups, { width: 16, length })
      .map((group) => group.toString(16))
      .join(":"),
  );
}

function withoutRest(parts: readonly number[], { width, length }: { width: number; length: number }): number[] {
  return parts.map((part, index) => {
    const kept = Math.min(width, Math.max(0, length - index * width));
    return part & ~(2 ** (width - kept) - 1);
  });
}

/** A set of addresses. */
export interface AddressSet {
  /** @param text any text: what is no address is in no set. */
  has(text: string): boolean;
}

/** @param networks addresses and ranges, as `parseNetwork` returns them. */
export function createAddressSet(networks: readonly string[]): AddressSet {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    if (prefix === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(prefix), familyOf(address));
  }
  return {
    has(text) {
      const address = plainAddress(text);
      return address !== null && list.check(address, familyOf(address));
    },
  };
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}
