import { createServer } from "node:http";
import { once } from "node:events";

/** `page` is an answer of a proxy in front of it, and `late` a token that has expired. */
type Behaviour = "issue" | "fail" | "stall" | "page" | "late";

export interface TokenEndpoint {
  readonly url: string;
  /** Requests for tokens: the fields of the form. */
  readonly requests: Readonly<Record<string, string>>[];
  /** Secrets by client id. */
  readonly clients: Map<string, string>;
  /** From now on. */
  behave(behaviour: Behaviour): void;
  /** Of a bearer token. */
  isValid(token: string): boolean;
  stop(): Promise<void>;
}

/** An authorization server for client credentials (RFC 6749, section 4.4). `lifetimeMs` is asked at each request. */
export async function startTokenEndpoint(lifetimeMs: () => number): Promise<TokenEndpoint> {
  const requests: Record<string, string>[] = [];
  const clients = new Map<string, string>();
  const expiries = new Map<string, number>();
  let behaviour: Behaviour = "issue";

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const asked = Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString("utf8")));
      requests.push(asked);
      if (behaviour === "stall") return;
      const reply = (status: number, body: object) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
      if (behaviour === "fail") return reply(503, {});
      if (behaviour === "page") return void response.writeHead(200, { "content-type": "text/html" }).end("<html>");
      if (behaviour === "late") return reply(200, { access_token: "late", token_type: "Bearer", expires_in: 0 });
      const isKnown = clients.get(asked["client_id"] ?? "") === asked["client_secret"];
      if (!isKnown || asked["grant_type"] !== "client_credentials") return reply(401, { error: "invalid_client" });
      const token = `token-${crypto.randomUUID()}`;
      const lifetime = lifetimeMs();
      expiries.set(token, Date.now() + lifetime);
      return reply(200, { access_token: token, token_type: "Bearer", expires_in: Math.floor(lifetime / 1000) });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the token endpoint has no port");
  return {
    url: `http://127.0.0.1:${address.port}/oauth2/token`,
    requests,
    clients,
    behave: (next) => void (behaviour = next),
    isValid: (token) => (expiries.get(token) ?? 0) > Date.now(),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
