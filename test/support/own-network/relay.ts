import { connect, createServer, type ListenOptions, type NetConnectOpts } from "node:net";

export interface Address {
  host: string;
  port: number;
}

/** An address, or a socket in the file system, which is the same in every network. */
export type End = Address | { path: string };

/** Passes connections on, until either side ends. */
export async function startRelay(from: End & ListenOptions, to: End & NetConnectOpts): Promise<{ stop(): void }> {
  const server = createServer({ allowHalfOpen: true }, (arriving) => {
    const leaving = connect({ ...to, allowHalfOpen: true });
    arriving.pipe(leaving).pipe(arriving);
    arriving.on("error", () => leaving.destroy());
    leaving.on("error", () => arriving.destroy());
  });
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(from, resolve);
  await listening;
  return { stop: () => void server.close() };
}
