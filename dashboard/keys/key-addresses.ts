import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { MAX_NETWORK_CHARACTERS, parseNetwork } from "../../runtime/ip-network.ts";

/** The addresses and ranges of a key, as people and programs write them; a sentence for each that is wrong. */
export const addressesSchema = z
  .array(z.string("Must be a string.").trim().superRefine(checkNetwork))
  .max(ACCOUNT_BOUNDS.addressesOfKey, `At most ${ACCOUNT_BOUNDS.addressesOfKey} addresses and ranges.`);

function checkNetwork(text: string, context: z.RefinementCtx<string>): void {
  const message = problemOf(text);
  if (message !== null) context.addIssue({ code: "custom", message });
}

function problemOf(text: string): string | null {
  const parsed = parseNetwork(text);
  const shown = JSON.stringify(text.slice(0, MAX_NETWORK_CHARACTERS));
  switch (parsed.kind) {
    case "network":
      return null;
    case "no network":
      return `${shown} is not an IP address or a range such as 203.0.113.0/24 or 2001:db8::/32.`;
    case "wider":
      return `${shown} is ambiguous. Use ${parsed.range} for the range, or ${parsed.address} for the single address.`;
  }
}

/** Each in its canonical form, once; null if there are none. */
export function normalAddresses(texts: readonly string[]): string[] | null {
  const networks = texts.flatMap((text) => {
    const parsed = parseNetwork(text);
    return parsed.kind === "network" ? [parsed.network] : [];
  });
  return networks.length === 0 ? null : [...new Set(networks)];
}
