import { claimLowBalances, returnLowBalance } from "../../ledger/payments/balance-alerts.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import type { Logger } from "../../runtime/log.ts";
import { lowBalanceLetter } from "../mail/letters.ts";
import { sendToAny, type Mailer } from "../mail/letter.ts";
import { showUsd } from "../money.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";

export interface LowBalanceWatchDeps {
  database: Database;
  mailer: Mailer;
  publicBaseUrl: string;
  log: Logger;
  everyMs?: number;
}

const EVERY_MS = 60_000;

/** Notifies the owners of accounts that run out of credit, once for each fall, by whichever replica sees it first. */
export function startLowBalanceWatch(deps: LowBalanceWatchDeps): Rounds {
  const { log, everyMs = EVERY_MS } = deps;
  const onFailure = (error: unknown) => log.warn({ err: error }, "failed to check for low balances");
  return startRounds(() => sendLowBalanceAlerts(deps), { everyMs, onFailure });
}

/** One round of it. */
export async function sendLowBalanceAlerts(deps: Omit<LowBalanceWatchDeps, "everyMs">): Promise<void> {
  const { database, mailer, publicBaseUrl, log } = deps;
  for (const { accountId, accountName, balanceNanoUsd, thresholdNanoUsd, owners } of await claimLowBalances(database)) {
    const news = { accountName, balance: showUsd(balanceNanoUsd), threshold: showUsd(thresholdNanoUsd) };
    const isSent = await sendToAny(
      mailer,
      owners.map((to) => lowBalanceLetter({ to, ...news, link: `${publicBaseUrl}/dashboard/credit` })),
      (error) => log.warn({ err: error, account: accountId }, "failed to mail an owner about low credit"),
    );
    if (!isSent) await returnLowBalance(database, accountId);
  }
}
