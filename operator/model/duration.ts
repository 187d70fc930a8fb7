import * as z from "zod";
import { celPattern, explain } from "../crd/explain.ts";

const UNIT_MS = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;
const FORM = /^([0-9]{1,5}(h|m|s|ms)){1,4}$/;
const EXAMPLE = 'must be a duration such as "30s" or "1m30s"';
/** Four times five digits and a unit. */
const LONGEST = 28;

interface DurationBounds {
  minimumMs: number;
  maximumMs: number;
  /** The bounds as text. */
  claim: string;
  /** The purpose of the duration. */
  description: string;
}

/** A duration in the format of Kubernetes' Gateway API, `90s` or `1m30s`; parsed to milliseconds. */
export function durationSchema({ minimumMs, maximumMs, claim, description }: DurationBounds) {
  const message = `must be ${claim}`;
  const isWithin = `duration(self) >= duration("${minimumMs}ms") && duration(self) <= duration("${maximumMs}ms")`;
  return z
    .string({ error: EXAMPLE })
    .regex(FORM, EXAMPLE)
    .max(LONGEST, EXAMPLE)
    .meta(explain(description, { rules: [{ rule: `!self.matches(${celPattern(FORM)}) || (${isWithin})`, message }] }))
    .transform((text, context) => {
      const milliseconds = parseDuration(text);
      if (milliseconds >= minimumMs && milliseconds <= maximumMs) return milliseconds;
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    });
}

function parseDuration(text: string): number {
  let milliseconds = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9]+)(ms|h|m|s)/g)) {
    if (unit === "h" || unit === "m" || unit === "s" || unit === "ms") milliseconds += Number(amount) * UNIT_MS[unit];
  }
  return milliseconds;
}
