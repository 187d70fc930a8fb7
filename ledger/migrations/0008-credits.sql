-- Further kinds of entries: 'refund' gives a charge back, 'code' is a redeemed code, 'expire' takes back what is left of
-- a grant whose time is over.
ALTER TABLE ledger_entry DROP CONSTRAINT ledger_entry_kind_check;
ALTER TABLE ledger_entry DROP CONSTRAINT ledger_entry_counter_account_check;
ALTER TABLE ledger_entry DROP CONSTRAINT ledger_entry_check3;
ALTER TABLE ledger_entry
  ADD CONSTRAINT ledger_entry_kind_check CHECK (kind IN ('grant', 'topup', 'adjust', 'usage', 'refund', 'code', 'expire')),
  ADD CONSTRAINT ledger_entry_counter_account_check
    CHECK (counter_account IN ('promotion', 'payment_clearing', 'adjustment', 'revenue', 'voucher')),
  ADD CONSTRAINT ledger_entry_sign_check CHECK (kind = 'adjust' OR (kind IN ('usage', 'expire')) = (amount_nano_usd < 0));

-- A code that its holder turns into credit, once (S26). The code itself is stored nowhere.
CREATE TABLE redeem_code (
  id uuid PRIMARY KEY,
  -- HMAC-SHA256 of the code.
  code_hash bytea NOT NULL UNIQUE CHECK (octet_length(code_hash) = 32),
  amount_nano_usd bigint NOT NULL CHECK (amount_nano_usd > 0),
  note text,
  expires_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  redeemed_by text COLLATE "C" REFERENCES account,
  redeemed_at timestamptz,
  CHECK ((redeemed_by IS NULL) = (redeemed_at IS NULL))
);
CREATE TRIGGER refuse_delete BEFORE DELETE OR TRUNCATE ON redeem_code FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Grants whose rest is taken back at a time. Usage is counted against the grant that ends first; what an account has used
-- is all that was credited to it less its balance, so nothing is written here while requests are settled.
CREATE TABLE expiring_grant (
  reference text PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  amount_nano_usd bigint NOT NULL CHECK (amount_nano_usd > 0),
  used_nano_usd bigint NOT NULL DEFAULT 0 CHECK (used_nano_usd BETWEEN 0 AND amount_nano_usd),
  -- How much the account had used in all when used_nano_usd was brought up to date.
  counted_nano_usd bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  ended_at timestamptz
);
CREATE INDEX expiring_grant_open ON expiring_grant (expires_at) WHERE ended_at IS NULL;
CREATE INDEX expiring_grant_account ON expiring_grant (account_id) WHERE ended_at IS NULL;

-- One check of the ledger a UTC day, by whichever process is first; what it found.
CREATE TABLE ledger_check (
  day date PRIMARY KEY,
  started_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  differences integer
);
