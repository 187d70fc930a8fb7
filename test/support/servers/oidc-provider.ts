import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { Provider } from "oidc-provider";
import { onTestFinished } from "vitest";
import { LOOPBACK } from "../../../local/process/ports.ts";

/** A person at the provider. */
export interface ProviderUser {
  sub: string;
  email?: string | null;
  email_verified?: boolean;
  name?: string;
  /** Google's claim for the organization's domain. */
  hd?: string;
}

export interface TestOidcProvider {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The person who signs in there from now on; null: they cancel. */
  user: ProviderUser | null;
  /** How long ago they signed in there, in seconds, whatever they are asked. */
  signedInSecondsAgo: number;
  /** A browser's way from the provider's address to ours, which it is sent back to. */
  follow(address: string): Promise<URL>;
}

/** Made once: it takes longer than most of the tests that sign in. */
const SIGNING_KEY = {
  ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }),
  use: "sig",
  alg: "RS256",
};

/** A real provider on the loopback without a sign-in form: every visitor is `user`. */
export async function startOidcProvider({
  redirectUri,
  port = 0,
}: {
  redirectUri: string;
  port?: number;
}): Promise<TestOidcProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, LOOPBACK, resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a listening server has a port");
  const issuer = `http://${LOOPBACK}:${address.port}`;
  const [clientId, clientSecret] = ["gateway", randomBytes(24).toString("base64url")];

  const provider = new Provider(issuer, {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
    jwks: { keys: [SIGNING_KEY] },
    cookies: { keys: [randomBytes(16).toString("hex")] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "hd"] },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ ...test.user, sub }) }),
    loadExistingGrant: async ({ oidc: { provider: own, session, client, params } }) => {
      if (session?.accountId === undefined || client === undefined) return undefined;
      const grant = new own.Grant({ accountId: session.accountId, clientId: client.clientId });
      grant.addOIDCScope(String(params?.["scope"]));
      await grant.save();
      return grant;
    },
  });
  const callback = provider.callback();
  server.on("request", (request, response) => {
    if (request.url?.startsWith("/interaction/") !== true) return void callback(request, response);
    const { user } = test;
    const result =
      user === null ? { error: "access_denied" } : { login: { accountId: user.sub, ts: secondsAgo(test.signedInSecondsAgo) } };
    void provider.interactionFinished(request, response, result);
  });
  onTestFinished(() => new Promise<void>((resolve) => (server.closeAllConnections(), server.close(() => resolve()))));

  const test: TestOidcProvider = { issuer, clientId, clientSecret, user: null, signedInSecondsAgo: 0, follow };
  return test;

  async function follow(start: string): Promise<URL> {
    const cookies = new Map<string, string>();
    let next = new URL(start);
    while (next.origin === issuer) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const answer = await fetch(next, { redirect: "manual", headers: { cookie } });
      for (const line of answer.headers.getSetCookie()) {
        const [name = "", value = ""] = (line.split(";")[0] ?? "").split("=", 2);
        cookies.set(name, value);
      }
      const location = answer.headers.get("location");
      if (location === null) throw new Error(`the provider answered ${answer.status}: ${await answer.text()}`);
      next = new URL(location, issuer);
    }
    return next;
  }
}

function secondsAgo(seconds: number): number {
  return Math.floor(Date.now() / 1000) - seconds;
}
