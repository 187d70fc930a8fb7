-- Money that a payment provider takes for an account, and what became of it (S26). Each change of credit that follows is
-- an entry of its own, whose reference begins with 'payment:' and the payment's id: payments and entries are two records
-- of the same money, and are compared (ledger/check.ts).
CREATE TABLE payment (
  id uuid PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  provider text COLLATE "C" NOT NULL CHECK (provider ~ '^[a-z][a-z0-9_]{0,31}$'),
  provider_payment_id text COLLATE "C" NOT NULL CHECK (provider_payment_id <> ''),
  -- Under which the provider tells of refunds and disputes, where that is another id; known when it is paid.
  provider_charge_id text COLLATE "C" CHECK (provider_charge_id <> ''),
  amount_nano_usd bigint NOT NULL CHECK (amount_nano_usd > 0),
  -- In which the customer paid; credit is in USD always.
  currency text NOT NULL DEFAULT 'USD' CHECK (currency ~ '^[A-Z]{3}$'),
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'paid', 'refunded', 'disputed', 'failed')),
  refunded_nano_usd bigint NOT NULL DEFAULT 0 CHECK (refunded_nano_usd >= 0),
  -- In disputes that are open or lost.
  disputed_nano_usd bigint NOT NULL DEFAULT 0 CHECK (disputed_nano_usd >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  paid_at timestamptz,
  UNIQUE (provider, provider_payment_id),
  UNIQUE (provider, provider_charge_id),
  CHECK (refunded_nano_usd + disputed_nano_usd <= amount_nano_usd),
  CHECK ((paid_at IS NULL) = (status IN ('pending', 'failed')))
);
CREATE INDEX payment_account ON payment (account_id, id DESC);
CREATE TRIGGER refuse_delete BEFORE DELETE OR TRUNCATE ON payment FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE payment_dispute (
  payment_id uuid NOT NULL REFERENCES payment,
  provider_dispute_id text COLLATE "C" NOT NULL CHECK (provider_dispute_id <> ''),
  amount_nano_usd bigint NOT NULL CHECK (amount_nano_usd > 0),
  status text NOT NULL CHECK (status IN ('open', 'won', 'lost')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (payment_id, provider_dispute_id)
);
CREATE TRIGGER refuse_delete BEFORE DELETE OR TRUNCATE ON payment_dispute FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- 'payment_refund' takes back what a provider returned to the customer; 'dispute' what it has withdrawn from us, and
-- gives it again where the dispute is won.
ALTER TABLE ledger_entry DROP CONSTRAINT ledger_entry_kind_check;
ALTER TABLE ledger_entry DROP CONSTRAINT ledger_entry_sign_check;
ALTER TABLE ledger_entry
  ADD CONSTRAINT ledger_entry_kind_check CHECK (
    kind IN ('grant', 'topup', 'adjust', 'usage', 'refund', 'code', 'expire', 'payment_refund', 'dispute')),
  ADD CONSTRAINT ledger_entry_sign_check CHECK (
    kind IN ('adjust', 'dispute') OR (kind IN ('usage', 'expire', 'payment_refund')) = (amount_nano_usd < 0));
