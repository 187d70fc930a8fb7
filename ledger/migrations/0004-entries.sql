-- The truth about money. Each row is a double entry: amount_nano_usd moves into the account (negative: out of it), and
-- the same amount moves out of counter_account. Rows are appended and never changed; a mistake is mended by another row.
CREATE TABLE ledger_entry (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  kind text NOT NULL CHECK (kind IN ('grant', 'topup', 'adjust', 'usage')),
  amount_nano_usd bigint NOT NULL CHECK (amount_nano_usd <> 0),
  counter_account text NOT NULL CHECK (counter_account IN ('promotion', 'payment_clearing', 'adjustment', 'revenue')),
  -- Of usage: the attempt that is charged.
  request_id uuid,
  attempt smallint,
  -- Of everything else: what it was posted for, such as a payment's id.
  reference text CHECK (reference <> ''),
  note text,
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((kind = 'usage') = (request_id IS NOT NULL)),
  CHECK ((kind = 'usage') = (attempt IS NOT NULL)),
  CHECK ((kind = 'usage') = (reference IS NULL)),
  CHECK (kind = 'adjust' OR (kind = 'usage') = (amount_nano_usd < 0))
);
-- Any replay moves nothing: a request is charged once, a reference is credited once, on whichever account.
CREATE UNIQUE INDEX ledger_entry_request ON ledger_entry (request_id, attempt) WHERE request_id IS NOT NULL;
CREATE UNIQUE INDEX ledger_entry_reference ON ledger_entry (reference) WHERE reference IS NOT NULL;
CREATE INDEX ledger_entry_account ON ledger_entry (account_id, id DESC);
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entry
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
