import * as openid from "openid-client";
import * as z from "zod";
import { toPersonName } from "../../ledger/people/person-name.ts";
import type { OidcConfig } from "./config.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { notBegunHere, oidcFailure } from "./failure.ts";
import { callbackPath } from "./paths.ts";
import { PATIENCE_SECONDS, type Arrived, type Provider } from "./provider.ts";

/** As long as a session here lasts. Whoever is asked for this states when its person signed in (OpenID Connect Core 1.0, 3.1.2.1). */
const MAX_AGE_SECONDS = 30 * 86_400;

/** The provider is not contacted until somebody signs in. */
export function createOidc(config: OidcConfig, { publicBaseUrl }: { publicBaseUrl: string }): Provider {
  const callback = `${publicBaseUrl}${callbackPath(config.id)}`;
  let discovered: Promise<openid.Configuration> | undefined;

  /** The provider's metadata; requested again after a failure. */
  async function provider(): Promise<openid.Configuration> {
    discovered ??= discover(config);
    try {
      return await discovered;
    } catch (error) {
      discovered = undefined;
      throw error;
    }
  }

  async function saying<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw oidcFailure(error, config.name);
    }
  }

  return {
    id: config.id,
    name: config.name,
    hasSecondFactor: config.hasSecondFactor,
    begin: ({ isAgain }) =>
      saying(async () => {
        const checks = {
          state: openid.randomState(),
          nonce: openid.randomNonce(),
          codeVerifier: openid.randomPKCECodeVerifier(),
        };
        const address = openid.buildAuthorizationUrl(await provider(), {
          redirect_uri: callback,
          scope: "openid email profile",
          state: checks.state,
          nonce: checks.nonce,
          code_challenge: await openid.calculatePKCECodeChallenge(checks.codeVerifier),
          code_challenge_method: "S256",
          ...(config.hasAuthTime ? ageFor(isAgain) : {}),
        });
        return { address: address.href, checks };
      }),
    finish: (query, { state, nonce, codeVerifier }) =>
      saying(async () => {
        if (query.get("state") !== state) throw notBegunHere();
        const answered = new URL(callback);
        answered.search = query.toString();
        const configuration = await provider();
        const tokens = await openid.authorizationCodeGrant(configuration, answered, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
        });
        const claims = claimsSchema.parse(tokens.claims());
        const provenMsAgo = config.hasAuthTime ? msSince(claims.auth_time) : 0;
        const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
        if (claims.email_verified !== undefined || !hasMore) return { ...vouchedBy(claims), provenMsAgo };
        // Many providers put only the subject into the token itself.
        const more = await openid.fetchUserInfo(configuration, tokens.access_token, claims.sub);
        return { ...vouchedBy({ ...claims, ...profileSchema.parse(more) }), provenMsAgo };
      }),
  };
}

function ageFor(isAgain: boolean): Record<string, string> {
  return isAgain ? { max_age: "0", prompt: "login" } : { max_age: String(MAX_AGE_SECONDS) };
}

/** Below zero if the provider's clock is ahead. */
function msSince(seconds: number | undefined): number | null {
  return seconds === undefined ? null : Date.now() - seconds * 1000;
}

async function discover({ issuer, clientId, clientSecret }: OidcConfig): Promise<openid.Configuration> {
  const server = new URL(issuer);
  const configuration = await openid.discovery(server, clientId, clientSecret, clientAuthentication(clientSecret), {
    // Settings allow http only on loopback.
    execute: [openid.enableNonRepudiationChecks, ...(server.protocol === "http:" ? [openid.allowInsecureRequests] : [])],
    timeout: PATIENCE_SECONDS,
    [openid.customFetch]: boundedFetch,
  });
  return configuration;
}

/** Basic is the method that a provider must accept by default. */
function clientAuthentication(clientSecret: string): openid.ClientAuth {
  const [basic, post] = [openid.ClientSecretBasic(clientSecret), openid.ClientSecretPost(clientSecret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    return (methods.includes("client_secret_basic") ? basic : post)(server, ...rest);
  };
}

const profileSchema = z.object({
  email: z.string().optional().catch(undefined),
  // Some providers send it as a text.
  email_verified: z.union([z.boolean(), z.stringbool()]).optional().catch(false),
  name: z.string().optional().catch(undefined),
  preferred_username: z.string().optional().catch(undefined),
  /** Google's: the domain of the organization that the account belongs to. */
  hd: z.string().optional().catch(undefined),
});
const claimsSchema = profileSchema.extend({
  iss: z.string().min(1),
  sub: z.string().min(1).max(255),
  auth_time: z.number().optional().catch(undefined),
});

function vouchedBy({
  iss,
  sub,
  email,
  email_verified: isVerified = false,
  hd,
  ...names
}: z.infer<typeof claimsSchema>): Omit<Arrived, "provenMsAgo"> {
  const called = [names.name, names.preferred_username, email?.replace(/@.*/, "")]
    .map((text = "") => toPersonName(text))
    .find((text) => text !== "");
  return {
    identity: { issuer: iss, subject: sub },
    email: isVerified && email !== undefined ? email.trim() : null,
    name: called ?? "Somebody",
    organization: hd?.toLowerCase() ?? null,
  };
}
