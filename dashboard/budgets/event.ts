import type { BudgetAlert } from "../../ledger/budgets/budget-alerts.ts";
import type { EndUserAlert } from "../../ledger/budgets/end-user-alerts.ts";
import { formatNanoUsd } from "../../ledger/money.ts";

export const BUDGET_EVENT = "budget.threshold_reached";

/** The body of a webhook event about a budget. */
export function budgetEventData(alert: BudgetAlert | EndUserAlert): Record<string, unknown> {
  const covered =
    "endUser" in alert
      ? { scope: "end_user", key_id: null, member_id: null, project_id: null, end_user: alert.endUser }
      : { scope: alert.scope, key_id: alert.keyId, member_id: alert.personId, project_id: alert.projectId, end_user: null };
  return {
    account_id: alert.accountId,
    budget_id: alert.budgetId,
    ...covered,
    month: alert.month.slice(0, 7),
    threshold_percent: alert.percent,
    currency: "USD",
    amount: formatNanoUsd(alert.amountNanoUsd),
    spent: formatNanoUsd(alert.spentNanoUsd),
  };
}
