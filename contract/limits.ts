import * as z from "zod";

/** USD as a decimal string: JSON numbers would round it. */
const usd = z.string().regex(/^\d{1,9}(\.\d{1,9})?$/, { error: 'an amount of USD such as "5.00"' });

/** What a key or an account may use (S23); what is not named is not limited. Days and months are UTC. */
export const limitsSchema = z.strictObject({
  requestsPerMinute: z.int().nonnegative().optional(),
  /** Tokens of all classes. */
  tokensPerMinute: z.int().nonnegative().optional(),
  concurrentRequests: z.int().nonnegative().optional(),
  spendPerDayUsd: usd.optional(),
  spendPerMonthUsd: usd.optional(),
});
export type Limits = z.infer<typeof limitsSchema>;
