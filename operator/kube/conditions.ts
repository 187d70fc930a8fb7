import * as z from "zod";

/** A condition as decided for any kind. */
export interface WantedCondition {
  type: string;
  isTrue: boolean;
  reason: string;
  message: string;
}

const storedCondition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string(),
  message: z.string().default(""),
  lastTransitionTime: z.string(),
  observedGeneration: z.int().optional(),
});
export type StoredCondition = z.infer<typeof storedCondition>;

const statusSchema = z.object({ conditions: z.array(storedCondition).default([]) }).catch({ conditions: [] });

/** The conditions in an object's status. */
export function readConditions(status: unknown): StoredCondition[] {
  return statusSchema.parse(status ?? {}).conditions;
}

export interface EncodeInput {
  wanted: readonly WantedCondition[];
  before: readonly StoredCondition[];
  generation: number;
  nowMs: number;
}

const LONGEST_MESSAGE = 32_768;

/** Conditions as Kubernetes stores them: the time changes only if the status flips. */
export function encodeConditions({ wanted, before, generation, nowMs }: EncodeInput): StoredCondition[] {
  const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  return wanted.map(({ type, isTrue, reason, message }) => {
    const status = isTrue ? "True" : "False";
    const old = before.find((condition) => condition.type === type);
    return {
      type,
      status,
      reason,
      // Half a character would be stored as another, and so be written again and again.
      message: message.slice(0, LONGEST_MESSAGE).toWellFormed(),
      lastTransitionTime: old?.status === status ? old.lastTransitionTime : now,
      observedGeneration: generation,
    };
  });
}

/** Those whose status or reason has changed. */
export function findTransitions(wanted: readonly WantedCondition[], before: readonly StoredCondition[]): WantedCondition[] {
  return wanted.filter(({ type, isTrue, reason }) => {
    const old = before.find((condition) => condition.type === type);
    return old === undefined || (old.status === "True") !== isTrue || old.reason !== reason;
  });
}

/** `Ready`: all of them; otherwise the first obstacle. */
export function summarise(conditions: readonly WantedCondition[], ready: { reason: string; message: string }): WantedCondition {
  const wrong = conditions.find(({ isTrue }) => !isTrue);
  return wrong === undefined ? { type: "Ready", isTrue: true, ...ready } : { ...wrong, type: "Ready" };
}
