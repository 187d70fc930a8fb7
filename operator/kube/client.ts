import { Agent, request } from "node:https";
import type { IncomingMessage } from "node:http";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeEvents } from "./events.ts";
import type { KubeAccess } from "./credentials.ts";
import { KubeError, KubeUnansweredError, toKubeError } from "./kube-error.ts";

const CONTENT_TYPES = {
  json: "application/json",
  /** Server-side apply; JSON is YAML. */
  apply: "application/apply-patch+yaml",
  merge: "application/merge-patch+json",
} as const;

interface KubeRequest {
  method: "GET" | "POST" | "PUT" | "PATCH";
  path: string;
  query?: Readonly<Record<string, string>>;
  body?: { type: keyof typeof CONTENT_TYPES; content: object };
  /** If absent, the client's own. */
  timeoutMs?: number;
  /** It is sent even while the API server asks to wait: a Lease would be lost meanwhile. */
  isUrgent?: boolean;
}

interface WatchRequest {
  path: string;
  query: Readonly<Record<string, string>>;
  signal: AbortSignal;
  /** The server sends something at least this often, or is considered dead. */
  silenceMs: number;
}

export interface KubeClient {
  /** @returns the answer's JSON. @throws KubeError for an unsuccessful answer, KubeUnansweredError if there is none. */
  send(request: KubeRequest): Promise<unknown>;
  /** Each line of a watch, until the server ends it. @throws as `send`, and when the connection breaks or is silent. */
  watch(request: WatchRequest): AsyncGenerator<unknown, void>;
  close(): void;
}

export interface KubeClientDeps {
  access: KubeAccess;
  events: Pick<KubeEvents, "kubeAnswered">;
  requestTimeoutMs?: number;
}

const DEFAULT_REQUEST_TIMEOUT_MS = 15_000;
/** In addition to watches, each of which occupies one for minutes: many namespaces have more than this. */
const MAX_CONNECTIONS = 64;

/** Usually the API server asks for a second; one that asks for an hour must not stop everything for so long. */
const MAX_HOLD_MS = 5_000;

/**
 * The few calls that the operator makes, on kept connections. The library's own requests open a connection each, and its watches
 * end permanently at the first fault (docs/decisions/0013).
 */
export function createKubeClient({ access, events, requestTimeoutMs = DEFAULT_REQUEST_TIMEOUT_MS }: KubeClientDeps): KubeClient {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS, timeout: 0 });
  const watchAgent = new Agent({ keepAlive: true, timeout: 0 });
  /** The API server has too many requests: until then, thousands of objects are not retried each by itself. */
  let heldUntilMs = 0;

  async function open(
    { method, path, query = {}, body }: KubeRequest,
    { agent, signal }: { agent: Agent; signal: AbortSignal },
  ): Promise<IncomingMessage> {
    const url = new URL(path, access.server);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const credentials = await access.authenticate();
    const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body.content));
    const headers = {
      ...credentials.headers,
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": CONTENT_TYPES[body.type] }),
      ...(content === undefined ? {} : { "content-length": content.length }),
    };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const call = request(url, { ...credentials, method, signal, headers, agent }, resolve);
    call.on("error", reject);
    call.end(content);
    try {
      const response = await promise;
      events.kubeAnswered({ method, code: String(response.statusCode) });
      return response;
    } catch (error) {
      events.kubeAnswered({ method, code: "<error>" });
      throw error;
    }
  }

  function hold(seconds: number): void {
    if (seconds > 0) heldUntilMs = Math.max(heldUntilMs, performance.now() + Math.min(seconds * 1_000, MAX_HOLD_MS));
  }

  async function untilReleased(): Promise<void> {
    // It may have been prolonged meanwhile.
    while (performance.now() < heldUntilMs) await sleep(heldUntilMs - performance.now(), undefined, { ref: false });
  }

  async function read(response: IncomingMessage): Promise<unknown> {
    const body = await text(response);
    const parsed = isJson(response) && body !== "" ? parseJson(body) : undefined;
    const { statusCode = 0 } = response;
    if (statusCode === 429) hold(Number(response.headers["retry-after"] ?? "0"));
    if (statusCode < 200 || statusCode > 299) throw toKubeError(statusCode, parsed);
    return parsed;
  }

  return {
    async send(request) {
      const { timeoutMs = requestTimeoutMs, isUrgent = false } = request;
      if (!isUrgent) await untilReleased();
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        return await read(await open(request, { agent, signal }));
      } catch (error) {
        if (error instanceof KubeError) throw error;
        const reason = error instanceof Error ? error.message : String(error);
        throw new KubeUnansweredError(signal.aborted ? `no answer within ${timeoutMs} ms` : reason, { cause: error });
      }
    },
    async *watch({ path, query, signal, silenceMs }) {
      const silent = new AbortController();
      const timer = setTimeout(() => silent.abort(new Error(`A watch was silent for ${silenceMs} ms.`)), silenceMs);
      try {
        const request = { method: "GET", path, query: { ...query, watch: "true" } } as const;
        const response = await open(request, { agent: watchAgent, signal: AbortSignal.any([signal, silent.signal]) });
        if (response.statusCode !== 200) await read(response);
        response.on("data", () => timer.refresh());
        for await (const line of createInterface({ input: response })) {
          yield parseJson(line);
        }
        // A line reader treats a broken connection as an end.
        if (!response.complete) throw new Error("A watch's connection broke.");
      } catch (error) {
        silent.signal.throwIfAborted();
        throw error;
      } finally {
        clearTimeout(timer);
      }
    },
    close() {
      agent.destroy();
      watchAgent.destroy();
    },
  };
}

/** The parser's own messages quote the text, which may be a Secret's. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error("The Kubernetes API's answer is not JSON.");
  }
}

function isJson(response: IncomingMessage): boolean {
  return response.headers["content-type"]?.startsWith("application/json") ?? false;
}
