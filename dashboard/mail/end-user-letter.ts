import type { EndUserLetter } from "../../ledger/budgets/end-user-alerts.ts";
import { toPersonName } from "../../ledger/people/person-name.ts";
import { showUsd } from "../money.ts";
import { monthName } from "../billing/statement.ts";
import type { Letter } from "./letter.ts";
import { counted } from "../counted.ts";

/** Which end users have spent a part of the budget that the account sets for each. */
export function endUserLetter({ to, report, link }: { to: string; report: EndUserLetter; link: string }): Letter {
  const { accountName, month, amountNanoUsd, endUsers, total } = report;
  const name = toPersonName(accountName);
  const lines = endUsers.map(
    ({ endUser, percent, spentNanoUsd }) => `- ${nameOf(endUser)}: ${showUsd(spentNanoUsd)}, at least ${percent}%`,
  );
  if (total > endUsers.length) lines.push(`- and ${total - endUsers.length} more`);
  return {
    to,
    subject: `${name}: ${counted(total, "end user")} reached a threshold of the monthly budget`,
    text: `Hello,

These end users of the account “${name}” on Model Gateway have reached 50, 80 or 100% of the monthly budget of ${showUsd(amountNanoUsd)} for each end user in ${monthName(month.slice(0, 7))} (UTC):

${lines.join("\n")}

Budgets only send alerts: they do not stop requests. Usage by end user:

${link}

You received this because you are an owner of the account. There is at most one such email an hour.
`,
  };
}

/** An end user may have chosen it: a text with a link would speak to the owners in our name. */
function nameOf(endUser: string): string {
  const name = toPersonName(endUser);
  return name === "" ? "An end user" : name;
}
