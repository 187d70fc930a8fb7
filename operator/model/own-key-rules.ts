import * as z from "zod";
import type { Rule } from "../crd/explain.ts";
import type { Problem } from "./field-message.ts";

// Checks made both here and by the API server have the same messages.
const REQUIRED = "is required, because a backend has bringYourOwnKey";
const WITHOUT_BACKEND = "needs a backend with bringYourOwnKey";

/** What the rules read of a Model's specification; other invalid fields are reported as well. */
const keyedSpec = z.object({
  pricing: z.object({ providerKeyFee: z.unknown().optional() }),
  backends: z.array(z.object({ bringYourOwnKey: z.unknown().optional() })),
});

/** An omission must not make requests free, nor leave a fee that nobody pays. */
export function ownKeyProblems(spec: unknown): Problem[] {
  const parsed = keyedSpec.safeParse(spec);
  if (!parsed.success) return [];
  const { pricing, backends } = parsed.data;
  const hasFee = pricing.providerKeyFee !== undefined;
  const isOffered = backends.some(({ bringYourOwnKey }) => bringYourOwnKey !== undefined);
  if (hasFee === isOffered) return [];
  return [{ path: ["pricing", "providerKeyFee"], message: isOffered ? REQUIRED : WITHOUT_BACKEND }];
}

const IS_OFFERED = "self.backends.exists(each, has(each.bringYourOwnKey))";

/** The same for the API server. */
export const OWN_KEY_RULES: readonly Rule[] = [
  { rule: `has(self.pricing.providerKeyFee) || !${IS_OFFERED}`, message: REQUIRED, field: "pricing.providerKeyFee" },
  { rule: `!has(self.pricing.providerKeyFee) || ${IS_OFFERED}`, message: WITHOUT_BACKEND, field: "pricing.providerKeyFee" },
];
