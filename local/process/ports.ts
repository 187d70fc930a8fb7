import { randomInt } from "node:crypto";
import { connect, createServer, type Server } from "node:net";
import { promisify } from "node:util";
import { errorCode } from "../../runtime/error-code.ts";

export const LOOPBACK = "127.0.0.1";

/** Below the range of ports for outgoing connections: one of these could occupy ours. */
const FIRST = 20_000;
const PAST_LAST = 32_000;
/**
 * A process takes its ports from its own blocks, so that no other takes one that has been given but not yet opened. Listening on
 * the first port of a block claims it, for the life of the process.
 */
const BLOCK_SIZE = 50;
const BLOCKS = (PAST_LAST - FIRST) / BLOCK_SIZE;

/** Of the blocks claimed by this process, the ports not given yet. */
const unused: number[] = [];

/** A TCP port on the loopback address that was free a moment ago, a different one at each call. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = unused.pop();
    if (port === undefined) unused.push(...(await claimBlock()));
    else if (await isPortFree(port)) return port;
  }
}

/** The ports of an unclaimed block, except for the one that claims it. */
async function claimBlock(): Promise<number[]> {
  const anyBlock = randomInt(BLOCKS);
  for (let index = 0; index < BLOCKS; index++) {
    const first = FIRST + ((anyBlock + index) % BLOCKS) * BLOCK_SIZE;
    const claim = await tryListen(first, LOOPBACK);
    if (claim === null) continue;
    // The claim does not keep the process alive.
    claim.unref();
    return Array.from({ length: BLOCK_SIZE - 1 }, (_, offset) => first + 1 + offset);
  }
  throw new Error(`No free port was found between ${FIRST} and ${PAST_LAST}: stop programs that listen on them.`);
}

const LOOPBACK_WITHIN_MS = 2_000;

/**
 * Tries a connection from this machine to itself: without IPv4, or with the loopback interface down, there is none.
 * @throws Error with one sentence that explains the remedy.
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
      `This machine has no address ${address}, over which the gateway's processes communicate: bring it up with ip link set lo up, or add it with ip addr add ${address}/8 dev lo.`,
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
 * Whether nobody listens there. Reports "busy" before a child fails with a less clear message.
 * @throws Error if the port may not be opened at all, such as one below 1024.
 */
export async function isPortFree(port: number, host = LOOPBACK): Promise<boolean> {
  const server = await tryListen(port, host);
  if (server === null) return false;
  await promisify(server.close.bind(server))();
  return true;
}

/** @returns null if the port is in use. */
async function tryListen(port: number, host: string): Promise<Server | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Server | null>();
  const server = createServer((socket) => socket.destroy());
  server.once("error", (error) => {
    if (errorCode(error) === "EADDRINUSE") resolve(null);
    else reject(error);
  });
  server.listen(port, host, () => resolve(server));
  return await promise;
}
