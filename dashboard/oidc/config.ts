import * as z from "zod";
import { isLoopback } from "../../contract/loopback.ts";

/** Additional providers where people can sign in. Each has its own addresses, which are registered there. */
export const PROVIDER_IDS = ["oidc", "google", "github"] as const;
export type ProviderId = (typeof PROVIDER_IDS)[number];

interface Client {
  clientId: string;
  clientSecret: string;
  /** Display name: "Sign in with …". */
  name: string;
}

/** An OpenID Connect provider, as configured. */
export interface OidcConfig extends Client {
  id: "oidc" | "google";
  issuer: string;
  /** Whether it asks for a second factor itself: its sign-in then meets that requirement. */
  hasSecondFactor: boolean;
  /** Whether its tokens say when people signed in there (`auth_time`), so that it can confirm that it is them. */
  hasAuthTime: boolean;
}

/** GitHub, or a GitHub Enterprise Server: OAuth 2 and an API, not OpenID Connect. */
export interface GithubConfig extends Client {
  id: "github";
  url: string;
}

export type ProviderConfig = OidcConfig | GithubConfig;

const safeUrl = z.url().refine(isSafe, "must begin with https:// (http:// only for a server on this machine)").or(z.literal(""));

/** Variables of the process. An empty one counts as unset: the chart sets missing values to "". */
export const OIDC_VARIABLES = {
  OIDC_ISSUER: safeUrl.optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_NAME: z.string().max(60).optional(),
  OIDC_SECOND_FACTOR: z.enum(["here", "provider"]).default("here"),
  OIDC_AUTH_TIME: z.enum(["checked", "ignored"]).default("checked"),
  GOOGLE_CLIENT_ID: z.string().optional(),
  GOOGLE_CLIENT_SECRET: z.string().optional(),
  GITHUB_CLIENT_ID: z.string().optional(),
  GITHUB_CLIENT_SECRET: z.string().optional(),
  GITHUB_URL: safeUrl.optional(),
};

type Environment = Readonly<Partial<Record<keyof typeof OIDC_VARIABLES, string | undefined>>>;

/**
 * @returns the configured ones, in the order of their buttons.
 * @throws Error if one is configured without its client.
 */
export function providerConfigs(environment: Environment): ProviderConfig[] {
  const read = (name: keyof Environment) => environment[name] ?? "";
  const configs: ProviderConfig[] = [];
  if (read("OIDC_ISSUER") !== "") {
    const hasSecondFactor = read("OIDC_SECOND_FACTOR") === "provider";
    const name = read("OIDC_NAME") === "" ? "single sign-on" : read("OIDC_NAME");
    if (read("OIDC_CLIENT_ID") === "" || read("OIDC_CLIENT_SECRET") === "")
      throw new Error("OIDC_ISSUER needs OIDC_CLIENT_ID and OIDC_CLIENT_SECRET.");
    const hasAuthTime = read("OIDC_AUTH_TIME") !== "ignored";
    configs.push({ id: "oidc", issuer: read("OIDC_ISSUER"), name, hasSecondFactor, hasAuthTime, ...clientOf("OIDC") });
  }
  if (isNamed("GOOGLE"))
    configs.push({
      id: "google",
      issuer: "https://accounts.google.com",
      name: "Google",
      hasSecondFactor: false,
      hasAuthTime: false,
      ...clientOf("GOOGLE"),
    });
  if (isNamed("GITHUB")) {
    const url = read("GITHUB_URL") === "" ? "https://github.com" : read("GITHUB_URL").replace(/\/+$/, "");
    configs.push({ id: "github", url, name: "GitHub", ...clientOf("GITHUB") });
  }
  return configs;

  function clientOf(prefix: "OIDC" | "GOOGLE" | "GITHUB"): Pick<Client, "clientId" | "clientSecret"> {
    return { clientId: read(`${prefix}_CLIENT_ID`), clientSecret: read(`${prefix}_CLIENT_SECRET`) };
  }

  function isNamed(prefix: "GOOGLE" | "GITHUB"): boolean {
    const { clientId, clientSecret } = clientOf(prefix);
    if ((clientId === "") !== (clientSecret === ""))
      throw new Error(`${prefix}_CLIENT_ID and ${prefix}_CLIENT_SECRET must be set together.`);
    return clientId !== "";
  }
}

/** Anyone who can read or change traffic to the provider can sign in as anybody. */
function isSafe(address: string): boolean {
  const url = URL.parse(address);
  return url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url));
}
