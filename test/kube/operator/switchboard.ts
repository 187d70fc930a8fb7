import { connect, createServer, type Socket } from "node:net";

/** Stands where the operator's Service would: Envoy connects here and is led to one of the replicas. */
export interface Switchboard {
  /** Unix socket that it listens on. */
  readonly socket: string;
  /** Leads to this Unix socket from now on, and cuts what is open. */
  lead(socket: string): void;
  /** Ends every connection; new ones are led on. */
  cut(): void;
  stop(): Promise<void>;
}

export async function startSwitchboard(path: string): Promise<Switchboard> {
  const open = new Set<Socket>();
  let target = "";
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    // Whoever is led to a replica that is gone finds the connection closed.
    socket.on("error", () => undefined);
  };
  const server = createServer((socket) => {
    const onward = connect(target);
    for (const each of [socket, onward]) keep(each);
    socket.pipe(onward).pipe(socket);
    socket.once("close", () => onward.destroy());
    onward.once("close", () => socket.destroy());
  });
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(path, resolve);
  await listening;
  return {
    socket: path,
    lead(socket) {
      target = socket;
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
