import * as z from "zod";
import { isLoopback } from "../../contract/loopback.ts";

/** An OpenID Connect provider, as settings name it. */
export interface OidcConfig {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** What people call it: "Sign in with …". */
  name: string;
}

/** Variables of the process. An empty one is none: a chart sets what nobody gave to "". */
export const OIDC_VARIABLES = {
  OIDC_ISSUER: z
    .url()
    .refine(isSafe, "must begin with https:// (http:// is for an issuer on this machine alone)")
    .or(z.literal(""))
    .optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_NAME: z.string().max(60).optional(),
};

/**
 * @returns undefined where no provider is named.
 * @throws Error where one is named without the client that it knows.
 */
export function oidcConfig(environment: {
  OIDC_ISSUER?: string | undefined;
  OIDC_CLIENT_ID?: string | undefined;
  OIDC_CLIENT_SECRET?: string | undefined;
  OIDC_NAME?: string | undefined;
}): OidcConfig | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret, OIDC_NAME: name } = environment;
  if (isMissing(issuer)) return undefined;
  if (isMissing(clientId) || isMissing(clientSecret)) throw new Error("OIDC_ISSUER needs OIDC_CLIENT_ID and OIDC_CLIENT_SECRET.");
  return { issuer, clientId, clientSecret, name: isMissing(name) ? "single sign-on" : name };
}

function isMissing(text: string | undefined): text is undefined | "" {
  return text === undefined || text === "";
}

/** Who can read or change what goes to the provider can sign in as anybody. */
function isSafe(address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url));
}
