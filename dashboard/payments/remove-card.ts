import { lockForChange, type Actor } from "../../ledger/people/actor.ts";
import { noteAction } from "../../ledger/people/audit.ts";
import { findSavedCard, removeSavedCard } from "../../ledger/payments/saved-cards.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import type { PaymentProvider } from "./provider.ts";

/**
 * Removes an account's card, if one is saved, at the provider first: if that fails, it can be tried again.
 * @throws GatewayError `permission_denied` if the actor may not do so any more.
 */
export async function removeCard(database: Database, provider: PaymentProvider, actor: Actor): Promise<void> {
  const { accountId } = actor;
  // Other changes of the account do not wait for the provider's answer.
  const card = await database.transaction(async (transaction) => {
    await lockForChange(transaction, actor, "manageCard");
    return findSavedCard(transaction, { accountId, provider: provider.name });
  });
  if (card === undefined) return;
  await provider.forgetCard(card);
  await database.transaction(async (transaction) => {
    if (await removeSavedCard(transaction, { accountId, cardId: card.cardId }))
      await noteAction(transaction, { ...actor, action: "credit.card_removed", subject: card.label });
  });
}
