import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { readAutoTopUp } from "../../../ledger/payments/auto-top-up.ts";
import { readAlertThreshold } from "../../../ledger/payments/balance-alerts.ts";
import { listEntries } from "../../../ledger/credit/entry-list.ts";
import { findSavedCard } from "../../../ledger/payments/saved-cards.ts";
import type { AppDeps } from "../../app-deps.ts";
import type { FormState } from "../../http/form.ts";
import type { Member } from "../../session/visitor.ts";
import type { AutoTopUpView } from "../../views/credit/auto-top-up.ts";
import { creditPage } from "../../views/credit/credit.ts";

const PAGE = 50;

/** The page of all forms about credit. */
export async function renderCreditPage(
  deps: AppDeps,
  visitor: Member,
  { form, afterId, isCardSaved = false }: { form: FormState; afterId?: bigint | undefined; isCardSaved?: boolean },
): Promise<string> {
  const { database, payments, mailer } = deps;
  const { accountId } = visitor.membership;
  const [balance, page, alertNanoUsd, autoTopUp] = await Promise.all([
    readBalance(database, accountId),
    listEntries(database, { accountId, limit: PAGE, afterId }),
    readAlertThreshold(database, accountId),
    readAutoTopUpView(deps, accountId),
  ]);
  const alert = mailer === undefined ? null : { thresholdNanoUsd: alertNanoUsd };
  return creditPage({ visitor, balance, page, form, alert, autoTopUp, canPay: payments !== undefined, isCardSaved });
}

async function readAutoTopUpView({ database, payments }: AppDeps, accountId: string): Promise<AutoTopUpView | null> {
  if (payments === undefined) return null;
  const [autoTopUp, card] = await Promise.all([
    readAutoTopUp(database, accountId),
    findSavedCard(database, { accountId, provider: payments.name }),
  ]);
  return { autoTopUp, card };
}
