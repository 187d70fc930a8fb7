-- Who an account's receipts and statements are made out to. Without a row they name the account.
CREATE TABLE billing_details (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES account,
  name text NOT NULL CHECK (name <> '' AND length(name) <= 120),
  -- Lines, separated by newlines; empty: none.
  address text NOT NULL CHECK (length(address) <= 400),
  -- Empty: none.
  tax_id text NOT NULL CHECK (length(tax_id) <= 40),
  updated_at timestamptz NOT NULL DEFAULT now()
);
