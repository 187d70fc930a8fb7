import fastify from "fastify";
import type { Registry } from "prom-client";

export interface AdminOptions {
  host: string;
  /** 0 takes a free port. */
  port: number;
  metrics: Pick<Registry, "contentType" | "metrics">;
  /** Why the process is not ready; an empty list means ready. */
  notReadyBecause(): readonly string[] | Promise<readonly string[]>;
}

export interface Admin {
  readonly port: number;
  close(): Promise<void>;
}

/** The admin port of a process: /healthz (alive), /readyz (fit for traffic, else 503 with the reasons), /metrics. */
export async function startAdmin(options: AdminOptions): Promise<Admin> {
  const app = fastify({ logger: false, forceCloseConnections: true });
  app.get("/healthz", () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const reasons = await options.notReadyBecause();
    return reply.status(reasons.length === 0 ? 200 : 503).send({ status: reasons.length === 0 ? "ready" : "not ready", reasons });
  });
  app.get("/metrics", async (_request, reply) => reply.type(options.metrics.contentType).send(await options.metrics.metrics()));
  await app.listen({ host: options.host, port: options.port });
  const address = app.server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    close: () => app.close(),
  };
}
