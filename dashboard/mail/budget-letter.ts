import type { BudgetAlert } from "../../ledger/budgets/budget-alerts.ts";
import { toPersonName } from "../../ledger/people/person-name.ts";
import { showUsd } from "../money.ts";
import { monthName } from "../billing/statement.ts";
import type { Letter } from "./letter.ts";

export function budgetLetter({ to, alert, link }: { to: string; alert: BudgetAlert; link: string }): Letter {
  const { percent, amountNanoUsd, spentNanoUsd, month } = alert;
  const [amount, spent] = [showUsd(amountNanoUsd), showUsd(spentNanoUsd)];
  return {
    to,
    subject: `${toPersonName(alert.accountName)}: ${percent}% of the monthly budget used`,
    text: `Hello,

${subjectOf(alert)} on Model Gateway spent ${spent} in ${monthName(month.slice(0, 7))} (UTC), which is at least ${percent}% of the monthly budget of ${amount}.

Budgets only send alerts: they do not stop requests. To stop requests at an amount, set a spending limit. Review the budget:

${link}

You received this because you are an owner of the account, or the budget covers your keys.
`,
  };
}

function subjectOf({ scope, covers, accountName }: BudgetAlert): string {
  const account = `the account “${toPersonName(accountName)}”`;
  switch (scope) {
    case "account":
      return `The account “${toPersonName(accountName)}”`;
    case "project":
      return `The project “${toPersonName(covers ?? "")}” of ${account}`;
    case "key":
      return `The API key “${toPersonName(covers ?? "")}” of ${account}`;
    case "member":
      return `The API keys that ${covers ?? "a member"} created in ${account}`;
  }
}
