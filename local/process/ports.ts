import { randomInt } from "node:crypto";
import { connect, createServer } from "node:net";
import process from "node:process";
import { errorCode } from "../../runtime/error-code.ts";

export const LOOPBACK = "127.0.0.1";

/** Below the range from which systems take the ports of outgoing connections: one of those could take ours. */
const FIRST = 20_000;
const PAST_LAST = 32_000;
/** Processes that ask at the same time mostly ask in different shares: neither takes what the other is about to open. */
const SHARES = 16;
const PORTS_A_SHARE = (PAST_LAST - FIRST) / SHARES;
const ATTEMPTS = 100;

/** Given out by this process: who has one may not have opened it yet. */
const given = new Set<number>();

/** A TCP port on the loopback address that was free a moment ago, another one at each call. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = FIRST + (process.pid % SHARES) * PORTS_A_SHARE + randomInt(PORTS_A_SHARE);
    if (given.has(port)) continue;
    given.add(port);
    if (await isPortFree(port)) return port;
  }
  throw new Error(`No free port was found between ${FIRST} and ${PAST_LAST}: stop what listens there.`);
}

const LOOPBACK_WITHIN_MS = 2_000;

/**
 * Tries a connection from this machine to itself: one without IPv4, or whose loopback interface is down, has none.
 * @throws Error with one sentence that says what to do.
 */
export async function checkLoopback(address = LOOPBACK): Promise<void> {
  const server = createServer((socket) => socket.end());
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(0, address, () => {
    const listening = server.address();
    const port = typeof listening === "object" && listening !== null ? listening.port : 0;
    const socket = connect({ host: address, port, timeout: LOOPBACK_WITHIN_MS });
    socket.once("connect", () => resolve(void socket.end()));
    socket.once("error", reject);
    socket.once("timeout", () => socket.destroy(new Error("no connection in time")));
  });
  try {
    await promise;
  } catch (error) {
    throw new Error(
      `This machine has no address ${address}, over which the parts of the gateway talk: bring it up with ip link set lo up, or add it with ip addr add ${address}/8 dev lo.`,
      { cause: error },
    );
  } finally {
    server.close();
  }
}

/** So many free ports. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort());
  return ports;
}

/**
 * Does nobody listen there? Tells "busy" before a child fails over it with a less clear word.
 * @throws Error where the port may not be opened at all, as one below 1024.
 */
export async function isPortFree(port: number, host = LOOPBACK): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", (error) => {
    if (errorCode(error) === "EADDRINUSE") resolve(false);
    else reject(error);
  });
  server.listen(port, host, () => server.close(() => resolve(true)));
  return await promise;
}
