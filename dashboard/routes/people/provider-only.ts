import type { FastifyReply } from "fastify";
import type { AppDeps } from "../../app-deps.ts";
import { domainOf, providerFor } from "../../oidc/provider-domains.ts";
import { sendPage } from "../../http/reply.ts";
import { providerOnlyPage } from "../../views/people/provider-only.ts";

/**
 * Directs an address with a single provider there.
 * @returns undefined for all others.
 */
export function leadToProvider(
  { providers = [], providerDomains }: Pick<AppDeps, "providers" | "providerDomains">,
  reply: FastifyReply,
  { email, next }: { email: string; next: string },
): FastifyReply | undefined {
  const id = providerFor(providerDomains, email);
  const provider = providers.find((each) => each.id === id);
  return provider && sendPage(reply, providerOnlyPage({ domain: domainOf(email), provider, next }));
}
