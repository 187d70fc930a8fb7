import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { GatewayError } from "../../contract/errors.ts";
import { matcherOf } from "../../runtime/address/cidr.ts";
import { NEVER_RANGES, PRIVATE_RANGES } from "../../runtime/address/ranges.ts";
import type { WebhookNetworks } from "./networks.ts";

const MAX_LENGTH = 2_000;
const isShut = matcherOf([...NEVER_RANGES, ...PRIVATE_RANGES].map(({ cidr }) => cidr));

/**
 * The address of a webhook, as an owner typed it. Where its name leads is judged again at each attempt.
 * @throws GatewayError `invalid_request` with the field `url`.
 */
export function checkWebhookUrl(text: string, networks: WebhookNetworks): string {
  const url = URL.canParse(text) && text.length <= MAX_LENGTH ? new URL(text) : undefined;
  const protocols = networks === "any" ? ["https:", "http:"] : ["https:"];
  if (url === undefined || !protocols.includes(url.protocol))
    throw invalid("Enter the address of your endpoint, such as https://example.com/webhooks.");
  if (url.username !== "" || url.password !== "")
    throw invalid("Leave user names and passwords out of the address: events are signed instead.");
  const problem = objectionTo(hostOf(url), networks);
  if (problem !== undefined) throw invalid(problem);
  url.hash = "";
  return url.href;
}

/** Why an event may not be sent to this host, if it is an address; names are judged when they are looked up. */
export function objectionTo(host: string, networks: WebhookNetworks): string | undefined {
  if (networks === "any") return undefined;
  const isLocal = isIP(host) > 0 ? isShut(host) : /(^|\.)localhost\.?$/i.test(host);
  return isLocal ? "Events are sent to public addresses only; this one is private or reserved." : undefined;
}

/** Without the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/**
 * For a connection: looks a name up, and gives no address that events are not sent to. The connection goes to what was
 * judged here, so a name cannot lead elsewhere between the judgement and the use.
 */
export function guardedLookup(networks: WebhookNetworks): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "");
      const open = networks === "any" ? addresses : addresses.filter(({ address }) => !isShut(address));
      const [first] = open;
      if (first === undefined) return callback(new Error("the name leads to a private or reserved address"), "");
      if (options.all === true) return callback(null, open);
      return callback(null, first.address, first.family);
    });
  };
}

function invalid(message: string): GatewayError {
  return new GatewayError("invalid_request", message, { field: "url" });
}
