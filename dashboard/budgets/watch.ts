import {
  claimBudgetLetters,
  noteReachedBudgets,
  returnBudgetLetter,
  type BudgetAlert,
} from "../../ledger/budgets/budget-alerts.ts";
import {
  claimEndUserLetters,
  noteEndUsersOverBudget,
  returnEndUserLetter,
  type EndUserAlert,
} from "../../ledger/budgets/end-user-alerts.ts";
import type { Database, Queryable } from "../../ledger/postgres/database.ts";
import { queueEvent } from "../../ledger/webhooks/events.ts";
import type { Logger } from "../../runtime/log.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";
import { budgetLetter } from "../mail/budget-letter.ts";
import { endUserLetter } from "../mail/end-user-letter.ts";
import { sendToAny, type Letter, type Mailer } from "../mail/letter.ts";
import { budgetEventData } from "./event.ts";

export interface BudgetWatchDeps {
  database: Database;
  /** If absent, only the page and the webhook report it. */
  mailer: Mailer | undefined;
  publicBaseUrl: string;
  log: Logger;
  everyMs?: number;
}

const EVERY_MS = 60_000;

/** Notifies owners, members and webhooks when spend reaches a threshold, once a month, by whichever replica sees it first. */
export function startBudgetWatch(deps: BudgetWatchDeps): Rounds {
  const { log, everyMs = EVERY_MS } = deps;
  const onFailure = (error: unknown) => log.warn({ err: error }, "failed to check budgets");
  return startRounds(() => sendBudgetAlerts(deps), { everyMs, onFailure });
}

/** One round of it. */
export async function sendBudgetAlerts({
  database,
  mailer,
  publicBaseUrl,
  log,
}: Omit<BudgetWatchDeps, "everyMs">): Promise<void> {
  const queue = async (transaction: Queryable, alert: BudgetAlert | EndUserAlert): Promise<void> => {
    await queueEvent(transaction, { accountId: alert.accountId, type: "budget.threshold_reached", data: budgetEventData(alert) });
  };
  await noteReachedBudgets(database, queue);
  await noteEndUsersOverBudget(database, queue);

  const link = `${publicBaseUrl}/dashboard/budgets`;
  const send = async (accountId: string, letters: readonly Letter[]): Promise<boolean> =>
    mailer === undefined ||
    sendToAny(mailer, letters, (error) => log.warn({ err: error, account: accountId }, "failed to mail a budget alert"));
  for (const { readers, ...alert } of await claimBudgetLetters(database)) {
    const letters = readers.map((to) => budgetLetter({ to, alert, link }));
    if (!(await send(alert.accountId, letters))) await returnBudgetLetter(database, alert);
  }
  for (const claimed of await claimEndUserLetters(database)) {
    const letters = claimed.readers.map((to) =>
      endUserLetter({ to, report: claimed, link: `${publicBaseUrl}/dashboard/usage?by=user` }),
    );
    if (!(await send(claimed.accountId, letters))) await returnEndUserLetter(database, claimed);
  }
}
