-- The key with which the playground calls models for one member of an account: made when they first use it, with a new
-- secret and a new hour each time that the page asks for one.
CREATE TABLE playground_key (
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  person_id uuid NOT NULL REFERENCES person,
  public_id text COLLATE "C" NOT NULL UNIQUE REFERENCES api_key,
  PRIMARY KEY (account_id, person_id)
);
