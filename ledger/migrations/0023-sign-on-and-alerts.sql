-- Somebody may sign in by another service alone.
ALTER TABLE person ALTER COLUMN password_hash DROP NOT NULL;

-- Who somebody is at an OpenID Connect provider.
CREATE TABLE person_identity (
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  person_id uuid NOT NULL REFERENCES person,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (issuer, subject)
);

-- When an account's owners are told that credit runs out.
CREATE TABLE balance_alert (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES account,
  -- null: they do not want to be told.
  threshold_nano_usd bigint DEFAULT 1000000000 CHECK (threshold_nano_usd > 0),
  -- They were told since the balance was last above.
  is_told boolean NOT NULL DEFAULT false
);
