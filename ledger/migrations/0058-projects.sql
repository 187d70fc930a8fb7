-- Groups of an account's keys, whose usage and budget are one (docs/decisions/0070). Data planes read none of these tables.
CREATE TABLE project (
  id uuid PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- The person, or the creator of the management token.
  created_by uuid NOT NULL REFERENCES person,
  -- Usage of deleted keys still refers to it; it takes no keys.
  deleted_at timestamptz
);
CREATE UNIQUE INDEX project_name ON project (account_id, lower(name)) WHERE deleted_at IS NULL;

-- The project of a key, which a deleted key keeps. Apart from api_key: what every process mirrors stays as it is.
CREATE TABLE project_key (
  public_id text COLLATE "C" PRIMARY KEY REFERENCES api_key,
  project_id uuid NOT NULL REFERENCES project
);
CREATE INDEX project_key_project ON project_key (project_id);

-- Apart from budget and budget_alert: earlier versions read those and know no such scope.
CREATE TABLE project_budget (
  id uuid PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  project_id uuid NOT NULL UNIQUE REFERENCES project ON DELETE CASCADE,
  amount_nano_usd bigint NOT NULL CHECK (amount_nano_usd > 0),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX project_budget_account ON project_budget (account_id);

CREATE TABLE project_budget_alert (
  budget_id uuid NOT NULL REFERENCES project_budget ON DELETE CASCADE,
  month date NOT NULL,
  percent smallint NOT NULL CHECK (percent > 0),
  spent_nano_usd bigint NOT NULL,
  amount_nano_usd bigint NOT NULL,
  reached_at timestamptz NOT NULL DEFAULT now(),
  -- Nobody has been written to yet.
  is_mail_due boolean NOT NULL,
  PRIMARY KEY (budget_id, month, percent)
);
CREATE INDEX project_budget_alert_mail_due ON project_budget_alert (reached_at) WHERE is_mail_due;
