-- Models whose shutdown an account's webhooks were notified of, and when it was to be.
CREATE TABLE model_shutdown_event (
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  model text NOT NULL REFERENCES model,
  shutdown_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, model)
);
