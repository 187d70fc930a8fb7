-- Tokens that let a program manage an account, as the pages let a person (docs/management-api.md). They call no model.
-- Stored as a hash: a copy of the database opens nothing.
CREATE TABLE management_token (
  id uuid PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  name text NOT NULL CHECK (name <> '' AND length(name) <= 100),
  -- The most it may do: what a person of this role may.
  role text NOT NULL CHECK (role IN ('owner', 'member', 'viewer')),
  token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  created_by uuid NOT NULL REFERENCES person,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  -- To the minute.
  last_used_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX management_token_account ON management_token (account_id, id DESC);
CREATE TRIGGER refuse_delete BEFORE DELETE OR TRUNCATE ON management_token FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Who has done it, where no person has.
ALTER TABLE audit_entry ADD COLUMN token_id uuid REFERENCES management_token;

-- A code may be for several accounts, each once; redeemed_by is the first of them.
ALTER TABLE redeem_code ADD COLUMN most_uses integer NOT NULL DEFAULT 1 CHECK (most_uses > 0);
ALTER TABLE redeem_code ADD COLUMN revoked_at timestamptz;
ALTER TABLE redeem_code ADD COLUMN created_by uuid REFERENCES person;
CREATE TABLE redeem_code_use (
  code_id uuid NOT NULL REFERENCES redeem_code,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  redeemed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (code_id, account_id)
);
INSERT INTO redeem_code_use (code_id, account_id, redeemed_at)
  SELECT id, redeemed_by, redeemed_at FROM redeem_code WHERE redeemed_by IS NOT NULL;
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON redeem_code_use
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Checks of the ledger that somebody asked for; the nightly ones are in ledger_check. What differs is a JSON list, money in
-- it a decimal string of nano-USD.
CREATE TABLE ledger_check_run (
  id uuid PRIMARY KEY,
  asked_by uuid REFERENCES person,
  started_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  differences integer,
  found jsonb,
  -- It could not be brought to its end.
  is_failed boolean NOT NULL DEFAULT false
);
ALTER TABLE ledger_check ADD COLUMN found jsonb;
