import type { BudgetAlert } from "../../ledger/budgets/budget-alerts.ts";
import type { EndUserAlert } from "../../ledger/budgets/end-user-alerts.ts";
import { formatNanoUsd } from "../../ledger/money.ts";
import type { EventData } from "../../ledger/webhooks/events.ts";

/** What an event tells about a budget. */
export function budgetEventData(alert: BudgetAlert | EndUserAlert): EventData {
  const covered =
    "endUser" in alert
      ? { scope: "end_user", key_id: null, member_id: null, project_id: null, end_user: alert.endUser }
      : { scope: alert.scope, key_id: alert.keyId, member_id: alert.personId, project_id: alert.projectId, end_user: null };
  return {
    budget_id: alert.budgetId,
    ...covered,
    month: alert.month.slice(0, 7),
    threshold_percent: alert.percent,
    currency: "USD",
    amount: formatNanoUsd(alert.amountNanoUsd),
    spent: formatNanoUsd(alert.spentNanoUsd),
  };
}
