-- Accounts whose owner asks all members for a second factor.
CREATE TABLE second_factor_rule (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES account
);

-- Was it made by somebody who had proved a second factor? Where one is required, no other token counts.
ALTER TABLE management_token ADD COLUMN has_second_factor boolean NOT NULL DEFAULT false;
