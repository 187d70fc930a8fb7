import process from "node:process";
import type { Registry } from "prom-client";
import * as z from "zod";

/**
 * What a worker and its supervisor say to each other, over the channel that comes with the process. The supervisor asks;
 * each question is answered under its number.
 */
export const SUBJECTS = ["readiness", "metrics"] as const;
export type Subject = (typeof SUBJECTS)[number];

const questionSchema = z.strictObject({ question: z.int(), about: z.enum(SUBJECTS) });
export type Question = z.infer<typeof questionSchema>;

const answerSchema = z.strictObject({ question: z.int(), answer: z.array(z.unknown()) });
export type Answer = z.infer<typeof answerSchema>;

/** @returns undefined where the message is no answer. */
export function readAnswer(message: unknown): Answer | undefined {
  return answerSchema.safeParse(message).data;
}

/** A worker has no admin port: what would be read there, its supervisor asks for. */
export function answerSupervisor(worker: { metrics: Registry; notReadyBecause(): readonly string[] }): { close(): void } {
  async function answer(message: unknown): Promise<void> {
    const { question, about } = questionSchema.parse(message);
    const answer = about === "readiness" ? [...worker.notReadyBecause()] : await worker.metrics.getMetricsAsJSON();
    // Where the supervisor is gone, this process ends as well.
    process.send?.({ question, answer } satisfies Answer, undefined, undefined, () => {});
  }
  const onMessage = (message: unknown) => void answer(message);
  process.on("message", onMessage);
  return { close: () => void process.off("message", onMessage) };
}
