import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { LOOPBACK } from "../../../local/process/ports.ts";

export interface GithubUser {
  id: number;
  login: string;
  name: string | null;
  emails: { email: string; primary: boolean; verified: boolean }[];
}

export interface TestGithub {
  url: string;
  clientId: string;
  clientSecret: string;
  /** The person who is signed in there; null: they cancel. */
  user: GithubUser | null;
  /** The API's behavior from now on. */
  api: "works" | "fails" | "floods";
  /** From GitHub's address to ours, which the browser is sent back to. */
  follow(address: string): Promise<URL>;
}

/** GitHub as an Enterprise Server has it, on the loopback: its OAuth 2 with PKCE, and two answers of its API. */
export async function startGithub({ redirectUri }: { redirectUri: string }): Promise<TestGithub> {
  const [clientId, clientSecret] = ["gateway", randomBytes(24).toString("base64url")];
  const codes = new Map<string, string>();
  const tokens = new Set<string>();
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("a listening server has a port");
  onTestFinished(() => new Promise<void>((resolve) => (server.closeAllConnections(), server.close(() => resolve()))));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const json = (body: unknown, status = 200) =>
      response.writeHead(status, { "content-type": "application/json; charset=utf-8" }).end(JSON.stringify(body));
    const url = new URL(request.url ?? "", github.url);
    if (url.pathname === "/login/oauth/authorize") {
      const back = new URL(redirectUri);
      back.searchParams.set("state", url.searchParams.get("state") ?? "");
      if (github.user === null) back.searchParams.set("error", "access_denied");
      else {
        const code = randomBytes(8).toString("hex");
        codes.set(code, url.searchParams.get("code_challenge") ?? "");
        back.searchParams.set("code", code);
      }
      return void response.writeHead(302, { location: back.href }).end();
    }
    if (url.pathname === "/login/oauth/access_token") {
      const form = new URLSearchParams(await text(request));
      const isClient = form.get("client_id") === clientId && form.get("client_secret") === clientSecret;
      if (!isClient) return void json({ error: "incorrect_client_credentials" });
      const challenge = codes.get(form.get("code") ?? "");
      codes.delete(form.get("code") ?? "");
      const proof = createHash("sha256")
        .update(form.get("code_verifier") ?? "")
        .digest("base64url");
      if (challenge !== proof) return void json({ error: "bad_verification_code", error_description: "expired" });
      const token = `gho_${randomBytes(8).toString("hex")}`;
      tokens.add(token);
      return void json({ access_token: token, scope: "read:user,user:email", token_type: "bearer" });
    }
    if (!tokens.has(/^bearer (.*)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "")) return void json({}, 401);
    if (github.api === "fails") return void json({ message: "Server Error" }, 502);
    if (github.api === "floods") return void json("x".repeat(1_000_000));
    const { emails = [], ...user } = github.user ?? {};
    if (url.pathname === "/api/v3/user") return void json({ ...user, email: "public@example.com", bio: null });
    if (url.pathname === "/api/v3/user/emails") return void json(emails);
    return void json({}, 404);
  }

  const github: TestGithub = {
    url: `http://${LOOPBACK}:${address.port}`,
    clientId,
    clientSecret,
    user: null,
    api: "works",
    async follow(start) {
      const { headers } = await fetch(start, { redirect: "manual" });
      return new URL(headers.get("location") ?? "");
    },
  };
  return github;
}
