-- What each end user of an account may spend in a UTC month before its owners are alerted (docs/decisions/0051). Apart from budget:
-- earlier versions read that and know no such scope.
CREATE TABLE end_user_budget (
  id uuid PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL UNIQUE REFERENCES account,
  amount_nano_usd bigint NOT NULL CHECK (amount_nano_usd > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- When the last letter was begun: there is at most one an hour.
  mailed_at timestamptz
);

-- Erased with the account's labels: values may be people (docs/decisions/0068).
CREATE TABLE end_user_budget_alert (
  budget_id uuid NOT NULL REFERENCES end_user_budget ON DELETE CASCADE,
  month date NOT NULL,
  end_user text COLLATE "C" NOT NULL,
  percent smallint NOT NULL CHECK (percent > 0),
  spent_nano_usd bigint NOT NULL,
  amount_nano_usd bigint NOT NULL,
  reached_at timestamptz NOT NULL DEFAULT now(),
  -- Nobody has been written to yet.
  is_mail_due boolean NOT NULL,
  PRIMARY KEY (budget_id, month, end_user, percent)
);
CREATE INDEX end_user_budget_alert_mail_due ON end_user_budget_alert (budget_id) WHERE is_mail_due;
CREATE INDEX end_user_budget_alert_age ON end_user_budget_alert (month);
