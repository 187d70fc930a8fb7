import { lookup, type LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import { callbackify, promisify } from "node:util";
import { GatewayError } from "../../contract/errors.ts";
import { matcherOf } from "../../runtime/address/cidr.ts";
import { NEVER_RANGES, PRIVATE_RANGES } from "../../runtime/address/ranges.ts";
import type { TargetNetworks } from "./networks.ts";

const MAX_LENGTH = 2_000;
const isShut = matcherOf([...NEVER_RANGES, ...PRIVATE_RANGES].map(({ cidr }) => cidr));

/** Sentences of the form in which the address was entered. */
export interface TargetWords {
  /** "Enter the address of your endpoint, such as https://example.com/webhooks." */
  missing: string;
  /** Why user names and passwords do not belong into the address, and where to put them. */
  credentials: string;
}

/**
 * An address that a customer wants something sent to, as it was entered. Its name is resolved and checked again at each attempt.
 * @throws GatewayError `invalid_request` with the field `url`.
 */
export function checkTargetUrl(text: string, networks: TargetNetworks, words: TargetWords): string {
  const url = URL.canParse(text) && text.length <= MAX_LENGTH ? new URL(text) : undefined;
  const protocols = networks === "any" ? ["https:", "http:"] : ["https:"];
  if (url === undefined || !protocols.includes(url.protocol)) throw invalid(words.missing);
  if (url.username !== "" || url.password !== "") throw invalid(words.credentials);
  const problem = objectionTo(hostOf(url), networks);
  if (problem !== undefined) throw invalid(problem);
  url.hash = "";
  return url.href;
}

/** Why nothing may be sent to this host, if it is an address; names are checked when they are resolved. */
export function objectionTo(host: string, networks: TargetNetworks): string | undefined {
  if (networks === "any") return undefined;
  const isLocal = isIP(host) > 0 ? isShut(host) : /(^|\.)localhost\.?$/i.test(host);
  return isLocal ? "This address is private or reserved. Use a public one." : undefined;
}

/** Without the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

const systemLookup = promisify(lookup);
export interface NameServer {
  resolve4(hostname: string): Promise<string[]>;
  resolve6(hostname: string): Promise<string[]>;
}

/** A name's owner controls how long its name server is silent. */
const QUERY = { timeout: 2_000, tries: 2 };

/**
 * For a connection: resolves a name, and returns only addresses that may be sent to. The connection uses the checked address, so the
 * name cannot resolve elsewhere between check and use.
 */
export function guardedLookup(networks: TargetNetworks, names: NameServer = new Resolver(QUERY)): LookupFunction {
  return (hostname, options, callback) => {
    const find = () => (networks === "any" ? systemLookup(hostname, { ...options, all: true }) : lookupPublic(hostname, names));
    callbackify(find)((error, addresses) => {
      const [first] = addresses ?? [];
      if (first === undefined) callback(error ?? new Error("the name resolves to a private or reserved address"), "");
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/**
 * With queries from this process. The system's resolver waits in one of the few threads that also hash passwords: a customer
 * whose name server never answers would keep others from signing in.
 */
async function lookupPublic(hostname: string, names: NameServer): Promise<LookupAddress[]> {
  const [four, six] = await Promise.allSettled([names.resolve4(hostname), names.resolve6(hostname)]);
  if (four.status === "rejected" && six.status === "rejected") throw four.reason;
  const addresses = [
    ...(four.status === "fulfilled" ? four.value : []).map((address) => ({ address, family: 4 })),
    ...(six.status === "fulfilled" ? six.value : []).map((address) => ({ address, family: 6 })),
  ];
  return addresses.filter(({ address }) => !isShut(address));
}

function invalid(message: string): GatewayError {
  return new GatewayError("invalid_request", message, { field: "url" });
}
