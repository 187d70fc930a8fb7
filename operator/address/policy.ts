import { isIP } from "node:net";
import { matcherOf } from "../../runtime/address/cidr.ts";
import { NEVER_RANGES, PRIVATE_RANGES, type AddressRange } from "../../runtime/address/ranges.ts";

/** Where backends of Models may be, besides the public internet. */
export interface AddressPolicyOptions {
  /** All private addresses; loopback, link-local and metadata addresses are in none of this. */
  allowPrivate: boolean;
  /** Whatever they hold. */
  allowCidrs: readonly string[];
  /** Namespaces whose Services may be named in full: `vllm.models.svc`. */
  allowNamespaces: readonly string[];
}

/** Addresses that Envoy is not to send to, whatever a name leads to at that moment. */
export interface AddressGuard {
  shut: readonly string[];
  open: readonly string[];
}

export interface AddressPolicy {
  /** Does the answer for this host depend on what it resolves to? */
  needsAddresses(host: string): boolean;
  /**
   * Why a backend may not be there; null where it may.
   * @param addresses what the host resolves to; empty for an address, and for a name that resolves to nothing now.
   */
  objection(host: string, addresses: readonly string[]): string | null;
  /** Null for an address, which stays what it was when it was judged. */
  guardFor(host: string): AddressGuard | null;
}

const LOCALHOST = ["127.0.0.1", "::1"];

export function createAddressPolicy({ allowPrivate, allowCidrs, allowNamespaces }: AddressPolicyOptions): AddressPolicy {
  const isOpen = matcherOf(allowCidrs);
  const never = NEVER_RANGES.map((range) => ({ ...range, holds: matcherOf([range.cidr]) }));
  const ofItsOwn = PRIVATE_RANGES.map((range) => ({ ...range, holds: matcherOf([range.cidr]) }));
  const shutFor = (host: string) => {
    const namespace = namespaceOf(host);
    const isPrivateOpen = allowPrivate || (namespace !== null && allowNamespaces.includes(namespace));
    return isPrivateOpen ? never : [...never, ...ofItsOwn];
  };
  const rangeOf = (host: string, address: string): AddressRange | undefined =>
    isOpen(address) ? undefined : shutFor(host).find(({ holds }) => holds(address));

  return {
    needsAddresses: (host) => isIP(host) === 0 && !isLocalhost(host),
    objection(host, resolved) {
      const addresses = isIP(host) > 0 ? [host] : isLocalhost(host) ? LOCALHOST : resolved;
      for (const address of addresses) {
        const range = rangeOf(host, address);
        if (range !== undefined) return sentence({ host, address, range });
      }
      return null;
    },
    guardFor(host) {
      if (isIP(host) > 0) return null;
      return { shut: shutFor(host).map(({ cidr }) => cidr), open: [...allowCidrs] };
    },
  };
}

function sentence({ host, address, range }: { host: string; address: string; range: AddressRange }): string {
  const where = host === address ? `${address} is` : `${host} resolves to ${address},`;
  const namespace = namespaceOf(host);
  const remedy =
    namespace === null
      ? "operator.backends.allowCidrs"
      : `operator.backends.allowNamespaces (${namespace}) or operator.backends.allowCidrs`;
  return `${where} ${range.is}: a backend there must be allowed by the gateway's administrator, with ${remedy} in the chart's values`;
}

/** RFC 6761: these are this machine, whatever a name server says. */
function isLocalhost(host: string): boolean {
  return /(^|\.)localhost$/i.test(host);
}

/** Of a Service that is named in full. */
function namespaceOf(host: string): string | null {
  return /(?:^|\.)[^.]+\.([^.]+)\.svc(?:\.cluster\.local)?$/i.exec(host)?.[1]?.toLowerCase() ?? null;
}
