import type { BudgetAlert } from "../../ledger/budgets/budget-alerts.ts";
import { formatNanoUsd } from "../../ledger/money.ts";

export const BUDGET_EVENT = "budget.threshold_reached";

/** The body of a webhook event about a budget. */
export function budgetEventData(alert: BudgetAlert): Record<string, unknown> {
  return {
    account_id: alert.accountId,
    budget_id: alert.budgetId,
    scope: alert.scope,
    key_id: alert.keyId,
    member_id: alert.personId,
    project_id: alert.projectId,
    month: alert.month.slice(0, 7),
    threshold_percent: alert.percent,
    currency: "USD",
    amount: formatNanoUsd(alert.amountNanoUsd),
    spent: formatNanoUsd(alert.spentNanoUsd),
  };
}
