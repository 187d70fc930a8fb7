-- The UTC day inside a UUIDv7: its first 48 bits are Unix milliseconds. Integer arithmetic, so no time zone can enter.
CREATE FUNCTION usage_day(request_id uuid) RETURNS date
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN date '1970-01-01'
    + (('x' || left(replace(request_id::text, '-', ''), 12))::bit(48)::bigint / 86400000)::integer;

-- One row an attempt that reached an upstream. A unique index on a partitioned table must hold the partition key;
-- because the day is a function of the request id, and the CHECK keeps it so, (request_id, attempt) is unique across all
-- partitions. No foreign keys: every batch would lock the same few rows of accounts, keys and prices. Settlement locks
-- the balance row of each account anyway, and so finds an account that does not exist.
CREATE TABLE usage_event (
  day date NOT NULL,
  request_id uuid NOT NULL CHECK (substr(request_id::text, 15, 1) = '7'),
  attempt smallint NOT NULL CHECK (attempt > 0),
  account_id text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text NOT NULL,
  interface text NOT NULL CHECK (interface IN ('chat', 'messages')),
  upstream_protocol text NOT NULL CHECK (upstream_protocol IN ('chat', 'messages')),
  backend text NOT NULL,
  price_version_id bigint NOT NULL,
  input_tokens bigint NOT NULL CHECK (input_tokens >= 0),
  cached_input_tokens bigint NOT NULL CHECK (cached_input_tokens >= 0),
  cache_write_tokens bigint NOT NULL CHECK (cache_write_tokens >= 0),
  output_tokens bigint NOT NULL CHECK (output_tokens >= 0),
  -- A part of output_tokens.
  reasoning_tokens bigint NOT NULL CHECK (reasoning_tokens >= 0),
  -- Counted by the gateway, because the upstream gave no numbers (S28).
  is_estimated boolean NOT NULL,
  charge_nano_usd bigint NOT NULL CHECK (charge_nano_usd >= 0),
  http_status smallint NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('complete', 'truncated', 'failed', 'aborted')),
  is_stream boolean NOT NULL,
  started_at timestamptz NOT NULL,
  duration_ms integer NOT NULL,
  first_token_ms integer,
  settled_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (day, request_id, attempt),
  CHECK (day = usage_day(request_id))
) PARTITION BY RANGE (day);
-- Each request of an account, newest first (S27); an API key's usage by day (S29).
CREATE INDEX usage_event_account ON usage_event (account_id, day DESC, request_id DESC);
CREATE INDEX usage_event_key ON usage_event (key_id, day DESC);
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON usage_event
  FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Makes the partition of a day. Made aside and attached, so that it waits for no reader and no writer; the lock lets one
-- maker at a time look and make. Returns false where the partition is there already.
CREATE FUNCTION create_usage_partition(wanted date) RETURNS boolean
  LANGUAGE plpgsql AS $$
DECLARE
  partition_name text := 'usage_event_' || to_char(wanted, 'YYYYMMDD');
BEGIN
  IF to_regclass(partition_name) IS NOT NULL THEN
    RETURN false;
  END IF;
  LOCK TABLE usage_event IN SHARE UPDATE EXCLUSIVE MODE;
  IF to_regclass(partition_name) IS NOT NULL THEN
    RETURN false;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE usage_event INCLUDING ALL)', partition_name);
  EXECUTE format('ALTER TABLE usage_event ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', partition_name, wanted, wanted + 1);
  RETURN true;
END
$$;
