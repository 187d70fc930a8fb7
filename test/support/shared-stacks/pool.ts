import { createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { poolSocket, RETURNED, wishSchema, type Answer } from "./messages.ts";
import type { SharedStack } from "./shared-stack.ts";

export interface StackPool {
  /** Stops all stacks. */
  stop(): Promise<void>;
}

/** One that nobody wants for so long takes memory from tests. */
const KEPT_MS = 60_000;

/**
 * Lends stacks to test files, each to one file at a time. Starting a stack costs more than most files do with it, so that a
 * file gets one that another has returned. A connection is a loan: it ends with the process that borrowed.
 */
export async function startStackPool(runDirectory: string): Promise<StackPool> {
  const free = new Map<SharedStack, NodeJS.Timeout>();
  const loans = new Set<Promise<void>>();

  function keep(stack: SharedStack): void {
    free.set(
      stack,
      setTimeout(() => track(discard(stack)), KEPT_MS),
    );
  }

  async function discard(stack: SharedStack): Promise<void> {
    free.delete(stack);
    await stack.stop();
  }

  async function take(manifests: string): Promise<SharedStack> {
    const [next] = free;
    if (next === undefined) {
      // Most runs of single files borrow nothing, and need not load what a stack is made of.
      const { startSharedStack } = await import("./shared-stack.ts");
      return await startSharedStack(runDirectory, manifests);
    }
    const [stack, timer] = next;
    clearTimeout(timer);
    free.delete(stack);
    await stack.serve(manifests);
    return stack;
  }

  async function lend(socket: Socket): Promise<void> {
    const send = (answer: Answer) => void socket.write(`${JSON.stringify(answer)}\n`);
    // The end of a process cuts its connection.
    socket.on("error", () => undefined);
    let stack: SharedStack | undefined;
    let isReturned = false;
    try {
      for await (const line of createInterface({ input: socket })) {
        if (stack === undefined) {
          stack = await take(wishSchema.parse(JSON.parse(line)).manifests);
          stack.onComplaint = (complaint) => send({ kind: "complaint", line: complaint });
          send({ kind: "lent", stack: stack.lent });
        } else isReturned = line === RETURNED;
      }
    } catch (error) {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      send({ kind: "failed", name, message });
    }
    socket.end();
    if (stack === undefined) return;
    stack.onComplaint = () => undefined;
    if (isReturned) keep(stack);
    else await stack.stop();
  }

  function track(work: Promise<void>): void {
    const done = work.catch((error: unknown) => console.error(error)).finally(() => loans.delete(done));
    loans.add(done);
  }

  const server = createServer((socket) => track(lend(socket)));
  await new Promise<void>((resolve) => server.listen(poolSocket(runDirectory), resolve));
  return {
    async stop() {
      server.close();
      await Promise.all(loans);
      for (const [stack, timer] of free) {
        clearTimeout(timer);
        await discard(stack);
      }
    },
  };
}
