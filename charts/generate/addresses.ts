import { stringify } from "yaml";
import { matcherOf, parseCidr } from "../../runtime/address/cidr.ts";
import { NEVER_RANGES, PRIVATE_RANGES } from "../../runtime/address/ranges.ts";

/** The ranges of operator/address for the chart's NetworkPolicy, whose `except` may list only ranges inside its `cidr`. */
export function addressesFile(): string {
  const [never, own] = [NEVER_RANGES, PRIVATE_RANGES].map((ranges) => ranges.map(({ cidr }) => cidr));
  const inRange = (range: string) => {
    const holds = matcherOf([range]);
    return (never ?? []).filter((cidr) => holds(parseCidr(cidr).address) && parseCidr(cidr).prefix > parseCidr(range).prefix);
  };
  const isIpv4 = matcherOf(["0.0.0.0/0"]);
  return stringify(
    {
      ipv4: { never: inRange("0.0.0.0/0"), private: (own ?? []).filter((cidr) => isIpv4(parseCidr(cidr).address)) },
      ipv6: { neverInPublic: inRange("2000::/3"), neverInPrivate: inRange("fc00::/7") },
    },
    { lineWidth: 0 },
  );
}
