import * as z from "zod";

const UNIT_MS = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;

interface DurationBounds {
  minimumMs: number;
  maximumMs: number;
  /** The bounds in words. */
  claim: string;
}

/** A duration as Kubernetes' Gateway API writes it, `90s` or `1m30s`; parsed to milliseconds. */
export function durationSchema({ minimumMs, maximumMs, claim }: DurationBounds) {
  return z.string({ error: 'must be a duration such as "30s" or "1m30s"' }).transform((text, context) => {
    const milliseconds = parseDuration(text);
    if (milliseconds === null) {
      context.addIssue({ code: "custom", message: 'must be a duration such as "30s" or "1m30s"' });
      return z.NEVER;
    }
    if (milliseconds < minimumMs || milliseconds > maximumMs) {
      context.addIssue({ code: "custom", message: `must be ${claim}` });
      return z.NEVER;
    }
    return milliseconds;
  });
}

function parseDuration(text: string): number | null {
  if (!/^([0-9]{1,5}(h|m|s|ms)){1,4}$/.test(text)) return null;
  let milliseconds = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9]+)(ms|h|m|s)/g)) {
    if (unit === "h" || unit === "m" || unit === "s" || unit === "ms") milliseconds += Number(amount) * UNIT_MS[unit];
  }
  return milliseconds;
}
