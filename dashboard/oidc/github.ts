import * as openid from "openid-client";
import * as z from "zod";
import { toPersonName } from "../../ledger/people/person-name.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import type { GithubConfig } from "./config.ts";
import { notBegunHere, oidcFailure } from "./failure.ts";
import { callbackPath } from "./paths.ts";
import { PATIENCE_SECONDS, type Arrived, type Provider } from "./provider.ts";

const userSchema = z.object({ id: z.int().positive(), login: z.string(), name: z.string().nullish() });
const emailsSchema = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }));

/** GitHub's OAuth 2: its API returns who somebody is, and which of their addresses are verified. */
export function createGithub(config: GithubConfig, { publicBaseUrl }: { publicBaseUrl: string }): Provider {
  const { url, clientId, clientSecret, name } = config;
  const callback = `${publicBaseUrl}${callbackPath(config.id)}`;
  const api = new URL(url).hostname === "github.com" ? "https://api.github.com" : `${url}/api/v3`;
  const configuration = new openid.Configuration(
    {
      issuer: url,
      authorization_endpoint: `${url}/login/oauth/authorize`,
      token_endpoint: `${url}/login/oauth/access_token`,
    },
    clientId,
    clientSecret,
    openid.ClientSecretPost(clientSecret),
  );
  configuration.timeout = PATIENCE_SECONDS;
  configuration[openid.customFetch] = fetchAsOauth;
  // Settings allow http only on loopback.
  if (url.startsWith("http:")) openid.allowInsecureRequests(configuration);

  async function ask<T>(path: string, { token, schema }: { token: string; schema: z.ZodType<T> }): Promise<T> {
    const headers = new Headers({ accept: "application/vnd.github+json", "user-agent": "model-gateway" });
    const answer = await openid.fetchProtectedResource(configuration, token, new URL(`${api}${path}`), "GET", null, headers);
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
    return schema.parse(await answer.json());
  }

  async function saying<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw oidcFailure(error, name);
    }
  }

  return {
    id: config.id,
    name,
    hasSecondFactor: false,
    begin: () =>
      saying(async () => {
        const checks = { state: openid.randomState(), nonce: "", codeVerifier: openid.randomPKCECodeVerifier() };
        const address = openid.buildAuthorizationUrl(configuration, {
          redirect_uri: callback,
          scope: "read:user user:email",
          state: checks.state,
          code_challenge: await openid.calculatePKCECodeChallenge(checks.codeVerifier),
          code_challenge_method: "S256",
        });
        return { address: address.href, checks };
      }),
    finish: (query, { state, codeVerifier }) =>
      saying(async () => {
        if (query.get("state") !== state) throw notBegunHere();
        const answered = new URL(callback);
        answered.search = query.toString();
        const checks = { expectedState: state, pkceCodeVerifier: codeVerifier };
        const { access_token: token } = await openid.authorizationCodeGrant(configuration, answered, checks);
        const user = await ask("/user", { token, schema: userSchema });
        const emails = await ask("/user/emails", { token, schema: emailsSchema });
        return arrivedAs(user, emails, url);
      }),
  };
}

function arrivedAs(
  { id, login, name }: z.infer<typeof userSchema>,
  emails: z.infer<typeof emailsSchema>,
  issuer: string,
): Arrived {
  // A login can be given up and taken by another person; the number never is.
  const identity = { issuer, subject: String(id) };
  const email = emails.find(({ primary, verified }) => primary && verified)?.email.trim() ?? null;
  const called = [name ?? "", login].map(toPersonName).find((text) => text !== "");
  // GitHub never says when somebody signed in there, and cannot be made to ask them again.
  return { identity, email, name: called ?? "Somebody", organization: null, provenMsAgo: 0 };
}

/** GitHub answers 200 with an error in the body, where OAuth 2 requires 400 (RFC 6749, 5.2). */
async function fetchAsOauth(address: string, init: RequestInit): Promise<Response> {
  const answer = await boundedFetch(address, init);
  if (!answer.ok || !new URL(address).pathname.endsWith("/access_token")) return answer;
  const { error } = z
    .object({ error: z.string().optional() })
    .catch({})
    .parse(await answer.clone().json());
  if (error === undefined) return answer;
  return Response.json({ error: error === "bad_verification_code" ? "invalid_grant" : error }, { status: 400 });
}
