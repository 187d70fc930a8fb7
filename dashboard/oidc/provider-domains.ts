import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { PROVIDER_IDS, type ProviderConfig, type ProviderId } from "./config.ts";

/** The domains whose addresses sign in through one provider only, in lower case. */
export type ProviderDomains = ReadonlyMap<string, ProviderId>;

/** Variables of the process. */
export const PROVIDER_DOMAIN_VARIABLES = {
  PROVIDER_DOMAINS: z
    .string()
    .regex(/^[\w.-]+=\w+(\s*,\s*[\w.-]+=\w+)*$/, "must be domains with a provider, such as example.com=oidc,example.org=google")
    .or(z.literal(""))
    .optional(),
};

const providerId = z.enum(PROVIDER_IDS);

/** @throws Error for a provider that is not configured, or that cannot confirm a domain. */
export function providerDomains(
  { PROVIDER_DOMAINS: text = "" }: { PROVIDER_DOMAINS?: string | undefined },
  configs: readonly ProviderConfig[],
): ProviderDomains {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "");
  const domains = new Map<string, ProviderId>();
  for (const pair of pairs) {
    const [domain = "", name = ""] = pair.trim().toLowerCase().split("=");
    const id = providerId.safeParse(name).data;
    if (id === undefined || !configs.some((config) => config.id === id))
      throw new Error(`PROVIDER_DOMAINS names ${name} for ${domain}, which is not set up: it can be oidc or google.`);
    // GitHub verified an address once, for whoever owned it then.
    if (id === "github")
      throw new Error(
        `PROVIDER_DOMAINS names github for ${domain}: GitHub cannot confirm that a person still works there. Use oidc or google.`,
      );
    if (domains.has(domain)) throw new Error(`PROVIDER_DOMAINS names ${domain} twice.`);
    domains.set(domain, id);
  }
  return domains;
}

/** @returns the only provider for this address; undefined if there is no restriction. */
export function providerFor(domains: ProviderDomains | undefined, email: string): ProviderId | undefined {
  return domains?.get(domainOf(email));
}

export function domainOf(email: string): string {
  return (email.trim().toLowerCase().split("@").at(-1) ?? "").replace(/\.$/, "");
}

/** @throws GatewayError `permission_denied` for an address that must sign in through another provider. */
export function checkProvider(domains: ProviderDomains | undefined, email: string, used: ProviderId | undefined): void {
  const wanted = providerFor(domains, email);
  if (wanted === undefined || wanted === used) return;
  throw new GatewayError(
    "permission_denied",
    `People with an address at ${domainOf(email)} must sign in with their organization's provider. Use its button on the sign-in page.`,
  );
}
