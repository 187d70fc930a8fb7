import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import * as z from "zod";
import { MissingPrerequisite } from "./prerequisite.ts";

/** Test files and a pool talk on a Unix socket, one JSON document per line. */

/** A file's first words. */
export const wishSchema = z.strictObject({ wish: z.string() });

/** A file's last words: what it borrowed can be lent again. A connection that ends without them takes it along. */
export const RETURNED = "returned";

const answerSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("lent"), lent: z.unknown() }),
  z.strictObject({ kind: z.literal("failed"), name: z.string(), message: z.string() }),
  z.strictObject({ kind: z.literal("complaint"), line: z.string() }),
]);

export type Answer = z.infer<typeof answerSchema>;

export interface Loan {
  /** How to reach it, as the pool says. */
  lent: unknown;
  /** Warnings and errors so far. */
  complaints: readonly string[];
  /** @param isClean whether it can be lent again; it ends otherwise. */
  giveBack(isClean: boolean): Promise<void>;
}

/** Asks the pool at a socket for one of what it lends. @throws Error with what its start failed of. */
export async function borrow(socketPath: string, wish: string): Promise<Loan> {
  const complaints: string[] = [];
  const lent = Promise.withResolvers<unknown>();
  const socket = connect(socketPath);
  await once(socket, "connect");
  socket.once("error", lent.reject);
  socket.once("close", () => lent.reject(new Error("The pool has ended.")));
  createInterface({ input: socket }).on("line", (line) => {
    const answer = answerSchema.parse(JSON.parse(line));
    switch (answer.kind) {
      case "lent":
        return lent.resolve(answer.lent);
      case "failed": {
        const { name, message } = answer;
        return lent.reject(name === "MissingPrerequisite" ? new MissingPrerequisite(message) : new Error(message));
      }
      case "complaint":
        complaints.push(answer.line);
    }
  });
  socket.write(`${JSON.stringify({ wish })}\n`);
  try {
    return {
      lent: await lent.promise,
      complaints,
      async giveBack(isClean) {
        const closed = once(socket, "close");
        socket.end(isClean ? `${RETURNED}\n` : "");
        await closed;
      },
    };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
