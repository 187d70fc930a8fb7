import { claimBudgetLetters, noteReachedBudgets, returnBudgetLetter } from "../../ledger/budgets/budget-alerts.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { queueEvent } from "../../ledger/webhooks/deliveries.ts";
import type { Logger } from "../../runtime/log.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";
import { budgetLetter } from "../mail/budget-letter.ts";
import { sendToAny, type Mailer } from "../mail/letter.ts";
import { BUDGET_EVENT, budgetEventData } from "./event.ts";

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
  await noteReachedBudgets(database, async (transaction, alert) => {
    await queueEvent(transaction, {
      accountId: alert.accountId,
      type: BUDGET_EVENT,
      at: new Date(),
      data: budgetEventData(alert),
    });
  });
  for (const { readers, ...alert } of await claimBudgetLetters(database)) {
    if (mailer === undefined) continue;
    const isSent = await sendToAny(
      mailer,
      readers.map((to) => budgetLetter({ to, alert, link: `${publicBaseUrl}/dashboard/budgets` })),
      (error) => log.warn({ err: error, account: alert.accountId }, "failed to mail a budget alert"),
    );
    if (!isSent) await returnBudgetLetter(database, alert);
  }
}
