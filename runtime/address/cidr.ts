import { BlockList, isIP } from "node:net";
import * as z from "zod";

/** An address range, split into its two parts. */
export interface Cidr {
  address: string;
  prefix: number;
}

/** @throws Error if the text is not an address range. */
export function parseCidr(text: string): Cidr {
  const [, address = "", digits = ""] = /^([^/]*)\/([0-9]{1,3})$/.exec(text) ?? [];
  const family = isIP(address);
  const prefix = Number(digits);
  if (family === 0 || prefix > (family === 4 ? 32 : 128)) throw new Error(`${text} is not an address range such as 10.0.0.0/8`);
  return { address, prefix };
}

/** An environment variable that contains ranges, separated by commas. */
export const cidrsVariable = z.string().transform((text, context) => {
  const cidrs = text.split(",").flatMap((each) => (each.trim() === "" ? [] : [each.trim()]));
  for (const cidr of cidrs) {
    try {
      parseCidr(cidr);
    } catch {
      context.addIssue({ code: "custom", message: "must be address ranges such as 10.0.0.0/8, separated by commas" });
      return z.NEVER;
    }
  }
  return cidrs;
});

/** @returns a function that tests whether an address is in one of the ranges. */
export function matcherOf(cidrs: readonly string[]): (address: string) => boolean {
  // One list per family: a shared list would also match an IPv4 address, in its mapped form, with IPv6 ranges.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const { address, prefix } of cidrs.map(parseCidr)) {
    const family = familyOf(address);
    lists[family].addSubnet(address, prefix, family);
  }
  return (address) => lists[familyOf(address)].check(address, familyOf(address));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
