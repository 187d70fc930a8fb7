import { createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { RETURNED, wishSchema, type Answer } from "./loan.ts";

/** What a pool lends. */
export interface Lendable {
  /** How to reach it, as JSON. */
  readonly lent: object;
  /** The borrower, who is notified of warnings and errors. */
  onComplaint: (line: string) => void;
  /** Makes it what the next borrower wants; nothing of an earlier one is left. */
  prepare(wish: string): Promise<void>;
  stop(): Promise<void>;
}

export interface Pool {
  /** Stops all that it has. */
  stop(): Promise<void>;
}

/** One that nobody wants for so long takes memory from tests. */
const KEPT_MS = 60_000;

/**
 * Lends to test files, each to one file at a time, what costs more to start than most files do with it: a file gets one that
 * another has returned. A connection is a loan: it ends with the process that borrowed.
 *
 * @param socketPath Unix socket to listen on.
 * @param start starts another one, as its first borrower wants it.
 */
export async function startPool(socketPath: string, start: (wish: string) => Promise<Lendable>): Promise<Pool> {
  const free = new Map<Lendable, NodeJS.Timeout>();
  const loans = new Set<Promise<void>>();

  function keep(item: Lendable): void {
    free.set(
      item,
      setTimeout(() => track(discard(item)), KEPT_MS),
    );
  }

  async function discard(item: Lendable): Promise<void> {
    free.delete(item);
    await item.stop();
  }

  async function take(wish: string): Promise<Lendable> {
    const [next] = free;
    if (next === undefined) return await start(wish);
    const [item, timer] = next;
    clearTimeout(timer);
    free.delete(item);
    try {
      await item.prepare(wish);
      return item;
    } catch (error) {
      await item.stop();
      throw error;
    }
  }

  async function lend(socket: Socket): Promise<void> {
    const send = (answer: Answer) => void socket.write(`${JSON.stringify(answer)}\n`);
    // The end of a process cuts its connection.
    socket.on("error", () => undefined);
    let item: Lendable | undefined;
    let isReturned = false;
    try {
      for await (const line of createInterface({ input: socket })) {
        if (item === undefined) {
          item = await take(wishSchema.parse(JSON.parse(line)).wish);
          item.onComplaint = (complaint) => send({ kind: "complaint", line: complaint });
          send({ kind: "lent", lent: item.lent });
        } else isReturned = line === RETURNED;
      }
    } catch (error) {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      send({ kind: "failed", name, message });
    }
    socket.end();
    if (item === undefined) return;
    item.onComplaint = () => undefined;
    if (isReturned) keep(item);
    else await item.stop();
  }

  function track(work: Promise<void>): void {
    const done = work.catch((error: unknown) => console.error(error)).finally(() => loans.delete(done));
    loans.add(done);
  }

  const server = createServer((socket) => track(lend(socket)));
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return {
    async stop() {
      server.close();
      await Promise.all(loans);
      for (const [item, timer] of free) {
        clearTimeout(timer);
        await discard(item);
      }
    },
  };
}
