import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { LOOPBACK } from "../../../local/process/ports.ts";

export interface Forward {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  close(): Promise<void>;
}

/** A port of this machine that leads to an address in the cluster's network: one connection inside for each outside. */
export async function forward(relay: string, target: { host: string; port: number }): Promise<Forward> {
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const inside = connect({ path: relay, allowHalfOpen: true });
    inside.write(`${target.host}:${target.port}\n`);
    for (const [from, to] of [
      [client, inside],
      [inside, client],
    ] as const) {
      open.add(from);
      from.pipe(to);
      // How a connection ended is passed on: orderly, or not.
      from.on("error", () => to.destroy());
      from.on("close", () => {
        open.delete(from);
        if (!from.readableEnded) to.destroy();
      });
    }
  });
  server.listen(0, LOOPBACK);
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://${LOOPBACK}:${port}`,
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
