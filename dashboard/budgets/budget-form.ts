import * as z from "zod";
import { USD_AMOUNT } from "../../contract/limits.ts";
import type { BudgetScope } from "../../ledger/budgets/budgets.ts";
import { parseNanoUsd } from "../../ledger/money.ts";
import { typedAmount } from "../http/typed-amount.ts";

const AMOUNT = "Enter an amount in USD, such as 100.00.";
const CHOOSE = "Choose what the budget covers.";

/** The scope of a budget as one word: `account`, `end_user`, or `project:`, `key:` or `member:` and the id. */
const covered = z.string(CHOOSE).transform((text, context): BudgetScope => {
  const [scope, id = ""] = text.split(":");
  if (text === "account" || text === "end_user") return { scope: text };
  if (scope === "key" && /^[0-9A-Za-z]{12}$/.test(id)) return { scope, keyId: id };
  if (scope === "member" && z.uuid().safeParse(id).success) return { scope, personId: id };
  if (scope === "project" && z.uuid().safeParse(id).success) return { scope, projectId: id };
  context.addIssue({ code: "custom", message: CHOOSE });
  return z.NEVER;
});

export const budgetAmount = z
  .string(AMOUNT)
  .regex(USD_AMOUNT, AMOUNT)
  .transform(parseNanoUsd)
  .refine((nanoUsd) => nanoUsd > 0n, "Enter an amount above zero.");

/** Throws a ZodError with a sentence for each invalid field. */
export const budgetForm = z.object({ covered, amount: z.string(AMOUNT).overwrite(typedAmount).pipe(budgetAmount) });
