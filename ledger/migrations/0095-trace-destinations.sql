-- Where an account sends its requests to as traces (docs/decisions/0089).
CREATE TABLE trace_destination (
  id uuid PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 64),
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('otlp', 'langfuse')),
  -- Where batches are posted to; of Langfuse, the address of its server.
  url text NOT NULL,
  -- Names are shown, values never: they are sealed, with the names.
  header_names text[] NOT NULL,
  sealed_headers bytea NOT NULL,
  includes_content boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Number of the account's last request that was sent, or left out.
  cursor bigint NOT NULL,
  -- Requests of the next batch: it is halved while batches are refused for what is in them.
  batch_limit integer NOT NULL,
  next_attempt_at timestamptz NOT NULL DEFAULT now(),
  -- Batches in a row that were not accepted, since when, and why the last one was not.
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  problem text,
  -- What the last accepted batch was answered with, if the server had a remark.
  remark text,
  accepted_at timestamptz,
  sent bigint NOT NULL DEFAULT 0,
  -- Refused by the server one by one.
  rejected bigint NOT NULL DEFAULT 0,
  -- Left out because too many waited, or for too long.
  skipped bigint NOT NULL DEFAULT 0,
  disabled_at timestamptz,
  disabled_by text COLLATE "C" CHECK (disabled_by IN ('owner', 'failures')),
  -- Nobody has been told yet that failures disabled it.
  is_mail_due boolean NOT NULL DEFAULT false,
  CHECK ((disabled_at IS NULL) = (disabled_by IS NULL))
);
CREATE INDEX trace_destination_account ON trace_destination (account_id);
CREATE INDEX trace_destination_due ON trace_destination (next_attempt_at) WHERE disabled_at IS NULL;
CREATE INDEX trace_destination_mail_due ON trace_destination (id) WHERE is_mail_due;

-- Accounts that have, or had, a destination. Settling numbers their requests in the order in which they are settled: it holds the
-- account's balance, so the order of the numbers is that of the commits, and there is no gap.
CREATE TABLE trace_account (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES account,
  last_number bigint NOT NULL DEFAULT 0,
  -- A destination is enabled.
  is_exported boolean NOT NULL
) WITH (fillfactor = 50);

-- Requests that wait for a destination of their account, or did until lately.
CREATE TABLE trace_request (
  account_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  day date NOT NULL,
  request_id uuid NOT NULL,
  attempt smallint NOT NULL,
  queued_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
