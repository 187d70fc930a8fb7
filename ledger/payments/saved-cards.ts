import * as z from "zod";
import { turnOffAutoTopUp } from "./auto-top-up.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { lockAccount } from "../accounts/lock-account.ts";

/** A card that a payment provider stores for an account. */
export interface SavedCard {
  /** The provider's id of the cardholder. */
  customerId: string;
  /** The provider's id of the card. */
  cardId: string;
  /** For people, such as "visa ending in 4242". */
  label: string;
}

const cardRow = z.strictObject({ customerId: z.string(), cardId: z.string(), label: z.string() });

/**
 * The account's card from now on, unless one was saved or removed later: notices may arrive twice and in any order.
 * @returns the card that is not needed any more: the one that it replaces, or itself if it came too late; undefined if there is none.
 */
export async function saveCard(
  database: Database,
  { accountId, provider, card, savedAt }: { accountId: string; provider: string; card: SavedCard; savedAt: Date },
): Promise<SavedCard | undefined> {
  return database.transaction(async (transaction) => {
    await lockAccount(transaction, accountId);
    const before = await findSavedCard(transaction, { accountId, provider });
    const saved = await transaction.execute(
      `INSERT INTO saved_card (account_id, provider, provider_customer_id, provider_card_id, label, saved_at)
       SELECT id, $2, $3, $4, $5, $6 FROM account WHERE id = $1
       ON CONFLICT (account_id) DO UPDATE SET provider = excluded.provider, provider_customer_id = excluded.provider_customer_id,
         provider_card_id = excluded.provider_card_id, label = excluded.label, saved_at = excluded.saved_at, removed_at = NULL
       WHERE excluded.saved_at >= greatest(saved_card.saved_at, saved_card.removed_at)`,
      [accountId, provider, card.customerId, card.cardId, card.label, savedAt],
    );
    if (before?.cardId === card.cardId) return undefined;
    if (saved > 0) return before;
    return (await hasHadCard(transaction, accountId)) ? card : undefined;
  });
}

/** Is it an account of ours, which has a card or had one? A provider may report those of its other customers. */
async function hasHadCard(transaction: Queryable, accountId: string): Promise<boolean> {
  return (await transaction.execute("SELECT FROM saved_card WHERE account_id = $1", [accountId])) > 0;
}

/**
 * Removes the account's card; automatic charges stop. One that was saved instead of it meanwhile stays.
 * @returns false if it was not the account's card any more.
 */
export async function removeSavedCard(
  transaction: Queryable,
  { accountId, cardId }: { accountId: string; cardId: string },
): Promise<boolean> {
  const removed = await transaction.execute(
    "UPDATE saved_card SET removed_at = now() WHERE account_id = $1 AND provider_card_id = $2 AND removed_at IS NULL",
    [accountId, cardId],
  );
  if (removed > 0) await turnOffAutoTopUp(transaction, accountId);
  return removed > 0;
}

/** @returns undefined if this provider stores none for the account. */
export async function findSavedCard(
  database: Queryable,
  { accountId, provider }: { accountId: string; provider: string },
): Promise<SavedCard | undefined> {
  const [card] = await database.query({
    text: `SELECT provider_customer_id AS "customerId", provider_card_id AS "cardId", label
           FROM saved_card WHERE account_id = $1 AND provider = $2 AND removed_at IS NULL`,
    values: [accountId, provider],
    row: cardRow,
  });
  return card;
}
