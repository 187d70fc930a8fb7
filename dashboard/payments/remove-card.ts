import { noteAction } from "../../ledger/people/audit.ts";
import { findSavedCard, removeSavedCard } from "../../ledger/payments/saved-cards.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import type { PaymentProvider } from "./provider.ts";

/** Removes an account's card, if one is saved, at the provider first: if that fails, it can be tried again. */
export async function removeCard(
  database: Database,
  provider: PaymentProvider,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<void> {
  const card = await findSavedCard(database, { accountId, provider: provider.name });
  if (card === undefined) return;
  await provider.forgetCard(card);
  await removeSavedCard(database, accountId);
  await noteAction(database, { accountId, personId, action: "credit.card_removed", subject: card.label });
}
