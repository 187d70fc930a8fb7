-- What the bank claims, of which no more is taken than others have left; null for disputes from before: what was taken.
ALTER TABLE payment_dispute ADD COLUMN claimed_nano_usd bigint;
ALTER TABLE payment_dispute DROP CONSTRAINT payment_dispute_amount_nano_usd_check;
ALTER TABLE payment_dispute
  ADD CONSTRAINT payment_dispute_amount_nano_usd_check CHECK (amount_nano_usd >= 0) NOT VALID,
  ADD CONSTRAINT payment_dispute_claimed_nano_usd_check CHECK (claimed_nano_usd > 0) NOT VALID;

-- Refunds whose money came back. Notices come in any order: one of these may still be told to have succeeded.
CREATE TABLE payment_refund_failure (
  payment_id uuid NOT NULL REFERENCES payment,
  provider_refund_id text COLLATE "C" NOT NULL CHECK (provider_refund_id <> ''),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (payment_id, provider_refund_id)
);
CREATE TRIGGER refuse_delete BEFORE DELETE OR TRUNCATE ON payment_refund_failure
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
