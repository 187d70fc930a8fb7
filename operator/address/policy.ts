import { isIP } from "node:net";
import { matcherOf } from "../../runtime/address/cidr.ts";
import type { GoogleOptions } from "./google.ts";
import { NEVER_RANGES, PRIVATE_RANGES, type AddressRange } from "../../runtime/address/ranges.ts";

/** Allowed locations of Models' backends, besides the public internet. */
export interface AddressPolicyOptions {
  /** All private addresses; never loopback, link-local and metadata addresses. */
  allowPrivate: boolean;
  /** Of any kind. */
  allowCidrs: readonly string[];
  /** Namespaces whose Services may be backends, by full name: `vllm.models.svc`. */
  allowNamespaces: readonly string[];
  /** If absent or null, no backend gets tokens of the gateway's identity at Google. */
  google?: GoogleOptions | null;
}

/** Addresses that Envoy must not connect to, whatever a name resolves to at that moment. */
export interface AddressGuard {
  shut: readonly string[];
  open: readonly string[];
}

export interface AddressPolicy {
  google: GoogleOptions | null;
  /** Whether the answer for this host depends on its resolution. */
  needsAddresses(host: string): boolean;
  /**
   * Why a backend may not be there; null if it may.
   * @param addresses of the host; empty for an address, and for a name that does not resolve now.
   */
  objection(host: string, addresses: readonly string[]): string | null;
  /** The same for an address that the Kubernetes API says a namespace has: of a pod, or of a Service. */
  objectionInside(namespace: string, address: string): string | null;
  /** Null for an address, which has already been judged. */
  guardFor(host: string): AddressGuard | null;
}

const LOCALHOST = ["127.0.0.1", "::1"];

export function createAddressPolicy(options: AddressPolicyOptions): AddressPolicy {
  const { allowPrivate, allowCidrs, allowNamespaces, google = null } = options;
  const isOpen = matcherOf(allowCidrs);
  const never = NEVER_RANGES.map((range) => ({ ...range, holds: matcherOf([range.cidr]) }));
  const ofItsOwn = PRIVATE_RANGES.map((range) => ({ ...range, holds: matcherOf([range.cidr]) }));
  const shutIn = (namespace: string | null) => {
    const isPrivateOpen = allowPrivate || (namespace !== null && allowNamespaces.includes(namespace));
    return isPrivateOpen ? never : [...never, ...ofItsOwn];
  };
  const rangeOf = (namespace: string | null, address: string): AddressRange | undefined =>
    isOpen(address) ? undefined : shutIn(namespace).find(({ holds }) => holds(address));

  return {
    google,
    needsAddresses: (host) => isIP(host) === 0 && !isLocalhost(host),
    objection(host, resolved) {
      const addresses = isIP(host) > 0 ? [host] : isLocalhost(host) ? LOCALHOST : resolved;
      for (const address of addresses) {
        const namespace = namespaceOf(host);
        const range = rangeOf(namespace, address);
        const where = host === address ? `${address} is` : `${host} resolves to ${address},`;
        if (range !== undefined) return sentence({ where, namespace, range });
      }
      return null;
    },
    objectionInside(namespace, address) {
      const range = rangeOf(namespace, address);
      return range === undefined ? null : sentence({ where: `${address} is`, namespace, range });
    },
    guardFor(host) {
      if (isIP(host) > 0) return null;
      return { shut: shutIn(namespaceOf(host)).map(({ cidr }) => cidr), open: [...allowCidrs] };
    },
  };
}

function sentence({ where, namespace, range }: { where: string; namespace: string | null; range: AddressRange }): string {
  const remedy =
    namespace === null
      ? "operator.backends.allowCidrs"
      : `operator.backends.allowNamespaces (${namespace}) or operator.backends.allowCidrs`;
  return `${where} ${range.is}: a backend there must be allowed by the gateway's administrator, with ${remedy} in the chart's values`;
}

/** RFC 6761: these are this machine, whatever a name server answers. */
function isLocalhost(host: string): boolean {
  return /(^|\.)localhost$/i.test(host);
}

/** Of a Service's full name. */
function namespaceOf(host: string): string | null {
  return /(?:^|\.)[^.]+\.([^.]+)\.svc(?:\.cluster\.local)?$/i.exec(host)?.[1]?.toLowerCase() ?? null;
}
