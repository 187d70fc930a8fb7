import process from "node:process";
import type { Registry } from "prom-client";
import * as z from "zod";
import type { BrokenAnswer } from "../broken-answers.ts";
import type { HeldAnswer } from "../held-answers.ts";
import type { HealthNews } from "../route/backend-health.ts";

/**
 * The messages between a worker and its supervisor, over the channel that comes with the process. The supervisor asks, and each
 * question is answered under its number; the supervisor forwards a worker's reports to the others.
 */
export type Message =
  | { type: "question"; question: number; about: Subject }
  | { type: "answer"; question: number; answer: unknown[] }
  | { type: "news"; news: News };

/** A worker's observations that concern the others: a backend's health, or Envoy's report of a request that is not its own. */
export type News = HealthNews | { brokenAnswer: BrokenAnswer } | { heldAnswer: HeldAnswer };

const SUBJECTS = ["readiness", "metrics"] as const;
export type Subject = (typeof SUBJECTS)[number];

const messageSchema: z.ZodType<Message> = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("question"), question: z.int(), about: z.enum(SUBJECTS) }),
  z.strictObject({ type: z.literal("answer"), question: z.int(), answer: z.array(z.unknown()) }),
  z.strictObject({
    type: z.literal("news"),
    news: z.union([
      z.strictObject({
        cluster: z.string(),
        failure: z.strictObject({ isRateLimit: z.boolean(), retryAfterMs: z.number().nullable() }).nullable(),
      }),
      z.strictObject({
        brokenAnswer: z.strictObject({
          requestId: z.string(),
          cluster: z.string(),
          status: z.number(),
          silentAfterBytes: z.number().nullable(),
          leftAfterBytes: z.number().nullable(),
        }),
      }),
      z.strictObject({ heldAnswer: z.strictObject({ requestId: z.string(), bytes: z.number() }) }),
    ]),
  }),
]);

export function readMessage(message: unknown): Message {
  return messageSchema.parse(message);
}

/** A worker's end of the channel. */
export interface SupervisorChannel {
  notify(news: News): void;
  /** A worker has no admin port: its supervisor requests what would be read there. */
  answer(worker: AnsweringWorker): { close(): void };
}

interface AnsweringWorker {
  metrics: Pick<Registry, "getMetricsAsJSON">;
  notReadyBecause(): readonly string[] | Promise<readonly string[]>;
  hear(news: News): void;
}

export function openSupervisorChannel(): SupervisorChannel {
  // If the supervisor has ended, this process ends as well: nobody misses unsent messages.
  const send = (message: Message) => void process.send?.(message, undefined, undefined, () => {});
  return {
    notify: (news) => send({ type: "news", news }),
    answer(worker) {
      async function receive(message: Message): Promise<void> {
        if (message.type === "news") worker.hear(message.news);
        if (message.type !== "question") return;
        const { question, about } = message;
        const answer = about === "readiness" ? await worker.notReadyBecause() : await worker.metrics.getMetricsAsJSON();
        send({ type: "answer", question, answer: [...answer] });
      }
      const onMessage = (message: unknown) => void receive(readMessage(message));
      process.on("message", onMessage);
      return { close: () => void process.off("message", onMessage) };
    },
  };
}
