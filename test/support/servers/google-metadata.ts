import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";

const PATH = "/computeMetadata/v1/instance/service-accounts/default/token";
const SCOPES = "https://www.googleapis.com/auth/cloud-platform";

/** In place of a token. */
interface MetadataFailure {
  status: number;
  body: string;
  delayMs?: number;
}

export interface GoogleMetadata {
  /** As GCE_METADATA_HOST has it. */
  readonly host: string;
  /** When it was asked: one entry for each request. */
  readonly askedMs: readonly number[];
  /** What was wrong with requests. */
  readonly problems: readonly string[];
  /** The answers to the next requests; the last one stays. Tokens again if there are none. */
  fail(...failures: readonly MetadataFailure[]): void;
  /** Of the tokens that it issues from now on. */
  issueFor(seconds: number): void;
  isValid(authorization: string | undefined): boolean;
  stop(): Promise<void>;
}

/** The metadata server of Google's machines, with their default service account. */
export async function startGoogleMetadata(): Promise<GoogleMetadata> {
  const expiries = new Map<string, number>();
  const askedMs: number[] = [];
  const problems: string[] = [];
  let failures: readonly MetadataFailure[] = [];
  let seconds = 3_599;

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      askedMs.push(Date.now());
      const reply = (status: number, body: string) =>
        response.writeHead(status, { "content-type": "application/json", "metadata-flavor": "Google" }).end(body);
      const problem = problemOf(request, Buffer.concat(chunks));
      if (problem !== null) {
        problems.push(problem);
        return void reply(403, problem);
      }
      const [failure, ...later] = failures;
      if (failure !== undefined) {
        if (later.length > 0) failures = later;
        const { status, body, delayMs = 0 } = failure;
        return void setTimeout(() => reply(status, body), delayMs);
      }
      // Theirs may end in dots.
      const token = `ya29.c.${crypto.randomUUID()}_-=..`;
      expiries.set(`Bearer ${token}`, Date.now() + seconds * 1_000);
      return void reply(200, JSON.stringify({ access_token: token, expires_in: seconds, token_type: "Bearer" }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the metadata server has no port");
  return {
    host: `127.0.0.1:${address.port}`,
    askedMs,
    problems,
    fail: (...next) => void (failures = next),
    issueFor: (next) => void (seconds = next),
    isValid: (authorization) => (expiries.get(authorization ?? "") ?? 0) > Date.now(),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** As the real one judges: a form, a proxy's header or a missing one of its own may be a browser's or a program's that was fooled. */
function problemOf({ method, url = "", headers }: IncomingMessage, body: Buffer): string | null {
  const { pathname, searchParams } = new URL(url, "http://metadata.google.internal");
  if (method !== "GET") return `method ${method}`;
  if (body.length > 0) return `a body of ${body.length} bytes`;
  if (headers["metadata-flavor"] !== "Google") return "no Metadata-Flavor";
  if (headers["x-forwarded-for"] !== undefined) return "X-Forwarded-For";
  if (pathname !== PATH) return `path ${pathname}`;
  return searchParams.get("scopes") === SCOPES ? null : "scopes";
}
