import { LARGEST } from "../usage/load.ts";
import type { Database, Queryable } from "../../../ledger/postgres/database.ts";

/** Lists as long as those of large services: what `ledger/` would write one by one. */
const LISTED = 10_000;

/** So many keys and audit entries of the largest account, and so many further accounts, each with an owner; once. */
export async function seedLists(database: Database): Promise<void> {
  if ((await database.execute("SELECT FROM account WHERE id = 'listed-1'")) > 0) return;
  await database.transaction(insertLists);
  await database.execute("VACUUM (ANALYZE)");
}

async function insertLists(database: Queryable): Promise<void> {
  const numbers = `generate_series(1, ${LISTED}) AS number`;
  await database.execute(`
    INSERT INTO api_key (public_id, account_id, name, secret_hash, created_at)
    SELECT 'list' || lpad(number::text, 8, '0'), '${LARGEST}', 'listed key ' || number, sha256(number::text::bytea),
      now() - number * interval '1 minute'
    FROM ${numbers}`);
  await database.execute(
    `INSERT INTO account (id, name) SELECT 'listed-' || number, 'listed account ' || number FROM ${numbers}`,
  );
  await database.execute(`
    INSERT INTO account_balance (account_id, posted_nano_usd) SELECT 'listed-' || number, number::bigint * 1000000 FROM ${numbers}`);
  await database.execute(`
    WITH made AS (
      INSERT INTO person (id, email, name)
      SELECT gen_random_uuid(), 'owner-' || number || '@example.com', 'Owner ' || number FROM ${numbers} RETURNING id, email
    )
    INSERT INTO member (account_id, person_id, role) SELECT 'listed-' || split_part(split_part(email, '@', 1), '-', 2), id, 'owner' FROM made`);
  await database.execute(`
    INSERT INTO audit_entry (id, account_id, person_id, action, subject)
    SELECT uuidv7(-number * interval '1 minute'), '${LARGEST}', NULL,
      (ARRAY['key.created', 'key.changed', 'member.invited', 'credit.granted'])[1 + number % 4], 'list' || lpad(number::text, 8, '0')
    FROM ${numbers}`);
}
