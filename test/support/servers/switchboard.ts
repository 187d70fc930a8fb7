import { connect, createServer, type Socket } from "node:net";
import { LOOPBACK } from "../../../local/process/ports.ts";

/** A Unix socket, or a port of the loopback. */
type Target = string | number;

/** Stands where a name or a Service would: whoever connects here is led to one of the servers behind it. */
export interface Switchboard {
  /** That it listens on; 0 if it listens on a Unix socket. */
  readonly port: number;
  /** Leads there from now on, and cuts what is open. @param to null: to nobody. */
  lead(to: Target | null): void;
  /** Ends every connection; new ones are led on. */
  cut(): void;
  stop(): Promise<void>;
}

/** Leads to nobody at first. @param at 0 for a free port. */
export async function startSwitchboard(at: Target): Promise<Switchboard> {
  const open = new Set<Socket>();
  let target: Target | null = null;
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    // Whoever is led to a server that is gone finds the connection closed.
    socket.on("error", () => undefined);
  };
  const server = createServer((socket) => {
    if (target === null) return void socket.destroy();
    const onward = connect(optionsOf(target));
    for (const each of [socket, onward]) keep(each);
    socket.pipe(onward).pipe(socket);
    socket.once("close", () => onward.destroy());
    onward.once("close", () => socket.destroy());
  });
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(optionsOf(at), resolve);
  await listening;
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    lead(to) {
      target = to;
      cut();
    },
    cut,
    async stop() {
      cut();
      const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
      server.close(() => onClosed());
      await closed;
    },
  };
}

function optionsOf(target: Target) {
  return typeof target === "string" ? { path: target } : { host: LOOPBACK, port: target };
}
