import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { createJournal } from "../../../local/simulator/journal.ts";
import { createRoutes } from "../../../local/simulator/routes.ts";

/** How a server behaves for the requests below one path. */
export type Behaviour =
  /** As the simulated model server does, which follows the directives in the prompt. */
  | { kind: "answer" }
  | { kind: "status"; status: number; headers?: Record<string, string>; body?: string }
  /** Nothing ever comes. */
  | { kind: "stall" }
  /** A good answer that is not streamed begins, and does not go on. */
  | { kind: "half" }
  /** The connection ends where an answer should begin. */
  | { kind: "reset" };

interface SeenRequest {
  path: string;
  headers: IncomingHttpHeaders;
  isOver: boolean;
}

export interface FailingUpstream {
  /** Address for a backend whose requests behave so; `name` tells them from others. */
  url(name: string, behaviour: Behaviour): string;
  /** From now on. */
  behave(name: string, behaviour: Behaviour): void;
  seen(name: string): readonly SeenRequest[];
  stop(): Promise<void>;
}

/** A model server that fails as told, by the first part of the path. */
export async function startFailingUpstream(): Promise<FailingUpstream> {
  const behaviours = new Map<string, Behaviour>();
  const requests = new Map<string, SeenRequest[]>();
  const simulate = createRoutes(createJournal());

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, name = "", ...rest] = (request.url ?? "").split("/");
    const seen = { path: `/${rest.join("/")}`, headers: request.headers, isOver: false };
    response.once("close", () => (seen.isOver = true));
    requests.set(name, [...(requests.get(name) ?? []), seen]);
    const behaviour = behaviours.get(name) ?? { kind: "answer" };
    switch (behaviour.kind) {
      case "answer":
        request.url = seen.path;
        return await simulate(request, response);
      case "status":
        request.resume();
        response.writeHead(behaviour.status, { "content-type": "application/json", ...behaviour.headers });
        response.end(behaviour.body ?? JSON.stringify({ error: { message: `${name} fails`, type: "failure" } }));
        return;
      case "stall":
        return void request.resume();
      case "half":
        request.resume();
        response.writeHead(200, { "content-type": "application/json", "content-length": 1_000 });
        return void response.write('{"id":');
      case "reset":
        return void request.socket.destroy();
    }
  }

  const server = createServer((request, response) => {
    response.on("error", () => response.destroy());
    void serve(request, response);
  });
  server.keepAliveTimeout = 0;
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await listening;
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the upstream has no port");
  return {
    url(name, behaviour) {
      behaviours.set(name, behaviour);
      return `http://127.0.0.1:${address.port}/${name}`;
    },
    behave: (name, behaviour) => void behaviours.set(name, behaviour),
    seen: (name) => requests.get(name) ?? [],
    async stop() {
      const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
      server.close(() => onClosed());
      server.closeAllConnections();
      await closed;
    },
  };
}
