-- A part of an account's credit that one process may spend by itself (S30): requests are admitted against it without a
-- database. account_balance.leased is the sum of what open leases have left, and changes in the same transaction as
-- they do, under the lock of the balance row. A lease that has ended keeps its numbers.
CREATE TABLE credit_lease (
  lease_id uuid PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  -- The process: each start of one is another holder.
  holder text NOT NULL CHECK (holder <> ''),
  granted_nano_usd bigint NOT NULL CHECK (granted_nano_usd >= 0),
  -- Charges that it paid; what a request cost beyond it came from the balance.
  settled_nano_usd bigint NOT NULL DEFAULT 0,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  end_reason text CHECK (end_reason IN ('returned', 'expired', 'recovered')),
  CHECK (settled_nano_usd BETWEEN 0 AND granted_nano_usd),
  CHECK ((ended_at IS NULL) = (end_reason IS NULL))
) WITH (fillfactor = 50);
CREATE INDEX credit_lease_open ON credit_lease (account_id) WHERE ended_at IS NULL;
CREATE INDEX credit_lease_holder ON credit_lease (holder) WHERE ended_at IS NULL;

-- Which lease paid, and what became of requests whose process died or whose credit ran out.
ALTER TABLE usage_event ADD COLUMN lease_id uuid;
ALTER TABLE usage_event DROP CONSTRAINT usage_event_outcome_check;
ALTER TABLE usage_event ADD CONSTRAINT usage_event_outcome_check
  CHECK (outcome IN ('complete', 'truncated', 'failed', 'aborted', 'stopped', 'lost'));

-- The foreign key is a query for each entry, and finds nothing: settling locks the balance row of each account and so
-- finds one that does not exist; crediting selects the account.
-- An account's history shows credits; usage is shown from usage_event.
ALTER TABLE ledger_entry DROP CONSTRAINT ledger_entry_account_id_fkey;
DROP INDEX ledger_entry_account;
CREATE INDEX ledger_entry_credit ON ledger_entry (account_id, id DESC) WHERE kind <> 'usage';
