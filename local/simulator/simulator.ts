import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { LOOPBACK } from "../process/ports.ts";
import { createJournal } from "./journal.ts";
import type { PromptCache } from "./prompt-cache.ts";
import { createRoutes } from "./routes.ts";

export interface Simulator {
  /** `http://<host>:<port>`; chat clients add `/v1` to it. */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

export interface SimulatorOptions {
  /** The loopback address if absent. */
  host?: string;
  /** 0 or absent: a free one. */
  port?: number;
  /** Prompts are remembered; otherwise, the cached part of a prompt derives from the prompt alone. */
  promptCache?: PromptCache;
}

/**
 * A model server that speaks all protocols and serves embeddings and rankings, without running a model. Its answers derive from the request
 * alone, say that they are a simulation, and follow the directives of directive.ts.
 */
export async function startSimulator({ host = LOOPBACK, port = 0, promptCache }: SimulatorOptions = {}): Promise<Simulator> {
  const answer = createRoutes(createJournal(), promptCache);
  const server = createServer((request, response) => {
    void serve(answer, request, response);
  });
  // A proxy in front keeps connections open; we must never be the first to close one.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(port, host, resolve);
  await promise;
  const address = server.address();
  const listening = typeof address === "object" && address !== null ? address.port : port;
  return {
    url: `http://${host}:${listening}`,
    port: listening,
    close() {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      server.closeAllConnections();
      return promise;
    },
  };
}

type Routes = ReturnType<typeof createRoutes>;

async function serve(answer: Routes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // A client that disconnects in mid-answer is normal for the simulator.
  response.on("error", () => response.destroy());
  try {
    await answer(request, response);
  } catch (error) {
    // A request whose body was read counts as destroyed; only its connection shows whether the client is still there.
    if (response.destroyed || request.socket.destroyed) return;
    process.stderr.write(`${JSON.stringify({ level: "error", process: "simulator", msg: String(error) })}\n`);
    if (response.headersSent) response.destroy();
    else response.writeHead(500).end();
  }
}
