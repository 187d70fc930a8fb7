import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import * as z from "zod";
import { MissingPrerequisite } from "../test-run/prerequisite.ts";
import type { ClusterFacts, RunningCluster } from "./cluster.ts";

/**
 * Lends one cluster to test files, all at once. A cluster costs a tenth of a core even if nobody uses it, so that it starts
 * when the first file asks for it, and ends a while after the last has returned it. A connection is a loan.
 */
export interface ClusterLending {
  /** Ends the cluster, whoever has it. */
  stop(): Promise<void>;
}

/** The next file may come soon. */
const KEPT_MS = 30_000;

const factsSchema = z.object({
  directory: z.string(),
  pid: z.int(),
  kubectl: z.string(),
  helm: z.string(),
  kubeconfig: z.string(),
  relay: z.string(),
}) satisfies z.ZodType<ClusterFacts>;

const answerSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("running"), facts: factsSchema }),
  z.object({ kind: z.literal("failed"), name: z.string(), message: z.string() }),
]);
type Answer = z.infer<typeof answerSchema>;

interface Lent {
  answer: Answer;
  stop(): Promise<void>;
}

/** @param socketPath Unix socket to listen on. */
export async function lendCluster(
  socketPath: string,
  startCluster: () => Promise<Pick<RunningCluster, "facts" | "stop">>,
  keptMs = KEPT_MS,
): Promise<ClusterLending> {
  const loans = new Set<Socket>();
  let current: Promise<Lent> | undefined;
  /** Two would share the node's address. */
  let ended = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  async function start(before: Promise<void>): Promise<Lent> {
    await before;
    try {
      const { facts, stop } = await startCluster();
      return { answer: { kind: "running", facts }, stop };
    } catch (error) {
      const { name, message } = error instanceof Error ? error : new Error(String(error));
      return { answer: { kind: "failed", name, message }, stop: async () => {} };
    }
  }

  function end(): Promise<void> {
    clearTimeout(timer);
    const last = current;
    current = undefined;
    if (last !== undefined) ended = last.then(({ stop }) => stop());
    return ended;
  }

  const server = createServer((socket) => {
    clearTimeout(timer);
    loans.add(socket);
    // The end of a process cuts its connection.
    socket.on("error", () => undefined);
    socket.resume().once("close", () => {
      loans.delete(socket);
      if (loans.size === 0 && server.listening) timer = setTimeout(() => void end().catch(console.error), keptMs);
    });
    current ??= start(ended);
    void current.then(({ answer }) => socket.write(`${JSON.stringify(answer)}\n`));
  });
  server.listen(socketPath);
  await once(server, "listening");
  return {
    async stop() {
      server.close();
      for (const socket of loans) socket.destroy();
      await end();
    },
  };
}

export interface ClusterLoan {
  facts: ClusterFacts;
  /** Other files may go on using it. */
  giveBack(): void;
}

/** Waits for the cluster. @throws Error with what its start failed of. */
export async function borrowCluster(socketPath: string, withinMs: number): Promise<ClusterLoan> {
  const socket = connect(socketPath);
  const timer = setTimeout(() => socket.destroy(new Error("The cluster has not started in time.")), withinMs);
  try {
    const line = await new Promise<string>((resolve, reject) => {
      createInterface({ input: socket }).once("line", resolve);
      socket.once("error", reject).once("close", () => reject(new Error("The run has ended.")));
    });
    const answer = answerSchema.parse(JSON.parse(line));
    if (answer.kind === "running") return { facts: answer.facts, giveBack: () => socket.destroy() };
    throw answer.name === "MissingPrerequisite" ? new MissingPrerequisite(answer.message) : new Error(answer.message);
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
