import { claimStoppedAutoTopUps, returnStoppedAutoTopUp } from "../../ledger/payments/auto-top-up.ts";
import {
  beginAutoTopUp,
  claimSilentCharges,
  declineCharge,
  listDueAutoTopUps,
  noteAnsweredCharge,
  takeUnansweredCharge,
  type AutoTopUpCharge,
} from "../../ledger/payments/auto-top-up-charges.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { failPayment } from "../../ledger/payments/payments.ts";
import type { Logger } from "../../runtime/log.ts";
import { autoTopUpStoppedLetter } from "../mail/letters.ts";
import { sendToAny, type Mailer } from "../mail/letter.ts";
import type { ChargeAnswer, PaymentProvider } from "./provider.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";

export interface AutoTopUpDeps {
  database: Database;
  provider: PaymentProvider;
  /** If absent, only the page shows that it was turned off. */
  mailer: Mailer | undefined;
  publicBaseUrl: string;
  log: Logger;
  everyMs?: number;
}

const EVERY_MS = 20_000;

/** Charges the saved cards of accounts with low credit, once for each fall, by whichever replica sees it first. */
export function startAutoTopUp(deps: AutoTopUpDeps): Rounds {
  const { log, everyMs = EVERY_MS } = deps;
  const onFailure = (error: unknown) => log.warn({ err: error }, "failed to run automatic top-ups");
  return startRounds(() => topUpAutomatically(deps), { everyMs, onFailure });
}

/** One round of it. Charges that an earlier round left unfinished are completed with the same key. */
export async function topUpAutomatically(deps: Omit<AutoTopUpDeps, "everyMs">): Promise<void> {
  const { database, provider, log } = deps;
  for (const accountId of await listDueAutoTopUps(database, provider.name))
    if (await beginAutoTopUp(database, { accountId, provider: provider.name }))
      log.info({ account: accountId }, "automatic top-up started");
  for (;;) {
    const charge = await takeUnansweredCharge(database, provider.name);
    if (charge === undefined) break;
    await ask(charge, deps).catch((error: unknown) =>
      log.warn({ err: error, account: charge.accountId, payment: charge.chargeId }, "an automatic top-up will be retried"),
    );
  }
  for (const payment of await claimSilentCharges(database, provider.name))
    log.error(
      { payment },
      "no webhook arrived for an automatic top-up: check which events the provider's webhook is registered for",
    );
  await sendStoppedAlerts(deps);
}

async function ask(charge: AutoTopUpCharge, { database, provider, log }: Pick<AutoTopUpDeps, "database" | "provider" | "log">) {
  const name = { provider: provider.name, providerPaymentId: charge.chargeId };
  const answer = await answerFor(charge, provider);
  log.info({ account: charge.accountId, payment: charge.chargeId, answer }, "automatic top-up requested");
  switch (answer) {
    case "taken":
      return noteAnsweredCharge(database, name);
    case "declined":
      return declineCharge(database, name);
    case "unknown":
      return failPayment(database, name);
  }
}

/** Nobody is charged for a top-up that is no longer wanted; the provider knows whether an earlier request was charged. */
async function answerFor(charge: AutoTopUpCharge, provider: PaymentProvider): Promise<ChargeAnswer> {
  if (charge.isDue) return provider.chargeCard(charge);
  return charge.isTried ? provider.findCharge(charge) : "unknown";
}

async function sendStoppedAlerts(deps: Pick<AutoTopUpDeps, "database" | "mailer" | "publicBaseUrl" | "log">): Promise<void> {
  const { database, mailer, log } = deps;
  if (mailer === undefined) return;
  for (const stopped of await claimStoppedAutoTopUps(database)) {
    const { owners, accountId, accountName, because } = stopped;
    const link = `${deps.publicBaseUrl}/dashboard/credit`;
    const isSent = await sendToAny(
      mailer,
      owners.map((to) => autoTopUpStoppedLetter({ to, accountName, because, link })),
      (error) => log.warn({ err: error, account: accountId }, "failed to mail an owner that automatic top-up is off"),
    );
    if (!isSent) await returnStoppedAutoTopUp(database, accountId);
  }
}
