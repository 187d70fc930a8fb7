-- Accounts' own keys for providers (docs/decisions/0087). Processes that serve requests read only account.provider_keys.

-- What values are sealed to: only operators have the private key. One row at most.
CREATE TABLE provider_key_sealing (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  key_id text NOT NULL,
  public_key bytea NOT NULL CHECK (octet_length(public_key) = 32),
  -- HMAC with the pepper, which is not in this database: nobody who can only write here chooses what values are sealed to.
  proof bytea NOT NULL CHECK (octet_length(proof) = 32),
  -- How many clusters of Envoy all provider keys together may take.
  max_clusters integer NOT NULL CHECK (max_clusters >= 0)
);

CREATE TABLE provider_key (
  id uuid PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  provider text COLLATE "C" NOT NULL CHECK (provider <> ''),
  -- The server that gets it.
  origin text NOT NULL CHECK (origin <> ''),
  sealing_key_id text NOT NULL,
  sealed bytea NOT NULL,
  -- Rises with each value.
  version integer NOT NULL DEFAULT 1,
  last_four text NOT NULL CHECK (length(last_four) <= 4),
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'active', 'no_room', 'unusable')),
  -- The version that Envoys have.
  served_version integer,
  fingerprints jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(fingerprints) = 'array'),
  created_at timestamptz NOT NULL DEFAULT now(),
  replaced_at timestamptz
);
CREATE UNIQUE INDEX provider_key_account ON provider_key (account_id, provider);

-- For operators.
CREATE FUNCTION notify_provider_key() RETURNS trigger
  LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('provider_key_changed', '');
  RETURN NULL;
END
$$;
CREATE TRIGGER notify_changed AFTER INSERT OR DELETE OR UPDATE OF sealed ON provider_key
  FOR EACH STATEMENT EXECUTE FUNCTION notify_provider_key();

-- Requests that were sent with a provider key, beside the rollups of all requests: few accounts have any.
CREATE TABLE provider_key_usage_by_day (
  account_id text COLLATE "C" NOT NULL,
  day date NOT NULL,
  provider text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  searches bigint NOT NULL,
  images bigint NOT NULL,
  characters bigint NOT NULL,
  seconds bigint NOT NULL,
  -- Their fees: what was charged.
  charge_nano_usd bigint NOT NULL,
  PRIMARY KEY (account_id, day, provider, model)
);
-- For the service's own figures, of all accounts.
CREATE INDEX provider_key_usage_by_day_day ON provider_key_usage_by_day (day);
