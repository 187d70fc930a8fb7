import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/**
 * Carries connections from outside of the cluster's network to an address in it: a socket in the file system is in no
 * network. Each begins with a line, `<host>:<port>`.
 */
export async function serveRelay(file: string): Promise<void> {
  const server = createServer({ allowHalfOpen: true }, (outside) => {
    outside.on("error", () => outside.destroy());
    carry(outside).catch(() => outside.destroy());
  });
  server.listen(file);
  await once(server, "listening");
}

async function carry(outside: Socket): Promise<void> {
  const { host, port, rest } = await readTarget(outside);
  const inside = connect({ host, port, allowHalfOpen: true, noDelay: true });
  if (rest.length > 0) inside.write(rest);
  join(outside, inside);
  join(inside, outside);
}

interface Target {
  host: string;
  port: number;
  /** What came after the line. */
  rest: Buffer;
}

async function readTarget(socket: Socket): Promise<Target> {
  let read = Buffer.alloc(0);
  for (;;) {
    const end = read.indexOf("\n");
    if (end !== -1) {
      const { hostname, port } = new URL(`tcp://${read.subarray(0, end).toString()}`);
      return { host: hostname, port: Number(port), rest: read.subarray(end + 1) };
    }
    const [chunk]: unknown[] = await once(socket, "data");
    socket.pause();
    if (Buffer.isBuffer(chunk)) read = Buffer.concat([read, chunk]);
  }
}

/** One direction. A connection that breaks on one side breaks on the other. */
function join(from: Socket, to: Socket): void {
  from.pipe(to);
  from.on("error", () => to.destroy());
  from.on("close", () => {
    if (!from.readableEnded) to.destroy();
  });
}
