-- A budget warns when the spend of a UTC month passes a part of it; limits are what stops requests (S23).
CREATE TABLE budget (
  id uuid PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  -- What counts: all of the account, one key, or the keys that one person created.
  scope text NOT NULL CHECK (scope IN ('account', 'key', 'member')),
  key_id text COLLATE "C" REFERENCES api_key,
  person_id uuid REFERENCES person,
  amount_nano_usd bigint NOT NULL CHECK (amount_nano_usd > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((scope = 'key') = (key_id IS NOT NULL) AND (scope = 'member') = (person_id IS NOT NULL)),
  UNIQUE NULLS NOT DISTINCT (account_id, scope, key_id, person_id)
);

-- Each threshold of a budget is reached once a month, whichever process sees it first.
CREATE TABLE budget_alert (
  budget_id uuid NOT NULL REFERENCES budget ON DELETE CASCADE,
  month date NOT NULL,
  percent smallint NOT NULL CHECK (percent > 0),
  spent_nano_usd bigint NOT NULL,
  amount_nano_usd bigint NOT NULL,
  reached_at timestamptz NOT NULL DEFAULT now(),
  -- Nobody has been written to yet.
  is_mail_due boolean NOT NULL,
  PRIMARY KEY (budget_id, month, percent)
);
CREATE INDEX budget_alert_mail_due ON budget_alert (reached_at) WHERE is_mail_due;

-- Who created a key, by the audit log: for a person's budget, and the list of keys.
CREATE INDEX audit_entry_key_created ON audit_entry (subject) WHERE action = 'key.created';

-- Where an account's events are sent to.
CREATE TABLE webhook (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES account,
  url text NOT NULL,
  sealed_secret bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE webhook_delivery (
  -- The event's, the same for every attempt.
  id uuid PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  type text NOT NULL,
  body text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  attempts smallint NOT NULL DEFAULT 0,
  -- NULL: it was delivered, or given up.
  next_attempt_at timestamptz DEFAULT now(),
  delivered_at timestamptz,
  -- Why the last attempt failed.
  problem text
);
CREATE INDEX webhook_delivery_due ON webhook_delivery (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX webhook_delivery_account ON webhook_delivery (account_id, id DESC);
