import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { Registry } from "prom-client";

export interface AdminOptions {
  host: string;
  /** 0 picks a free port. */
  port: number;
  metrics: Pick<Registry, "contentType" | "metrics">;
  /** Why the process is not ready; an empty list means ready. */
  notReadyBecause(): readonly string[] | Promise<readonly string[]>;
}

export interface Admin {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * The admin port of a process: /healthz (alive), /readyz (ready for traffic, otherwise 503 with the reasons), /metrics. Three
 * paths need no framework, of which each worker of extproc would keep a copy in memory.
 */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const server = createServer((request, response) => {
    const path = request.url?.split("?")[0] ?? "";
    const isRead = request.method === "GET" || request.method === "HEAD";
    answer(isRead ? path : "", response, options).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  server.listen(options.port, options.host);
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(path: string, response: ServerResponse, options: AdminOptions): Promise<void> {
  switch (path) {
    case "/healthz":
      return sendJson(response, 200, { status: "ok" });
    case "/readyz": {
      const reasons = await options.notReadyBecause();
      const isReady = reasons.length === 0;
      return sendJson(response, isReady ? 200 : 503, { status: isReady ? "ready" : "not ready", reasons });
    }
    case "/metrics":
      return send(response, 200, options.metrics.contentType, await options.metrics.metrics());
    default:
      return sendJson(response, 404, { status: "not found" });
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, status, "application/json; charset=utf-8", JSON.stringify(body));
}

function send(response: ServerResponse, status: number, contentType: string, text: string): void {
  response.writeHead(status, { "content-type": contentType, "content-length": Buffer.byteLength(text) }).end(text);
}
