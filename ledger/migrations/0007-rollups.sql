-- Usage added up for pages and reports (S27, S29), changed in the transaction that inserts the usage, in the order of
-- the primary key. They outlive the usage rows that they were made from.
CREATE TABLE usage_by_hour (
  account_id text COLLATE "C" NOT NULL,
  -- Start of the UTC hour.
  hour timestamptz NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  charge_nano_usd bigint NOT NULL,
  PRIMARY KEY (account_id, hour, key_id, model)
) WITH (fillfactor = 70);

CREATE TABLE usage_by_day (
  account_id text COLLATE "C" NOT NULL,
  day date NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  charge_nano_usd bigint NOT NULL,
  PRIMARY KEY (account_id, day, key_id, model)
) WITH (fillfactor = 70);
CREATE INDEX usage_by_day_key ON usage_by_day (key_id, day);

-- The UTC hour inside a UUIDv7, as usage_day(uuid) is its day.
CREATE FUNCTION usage_hour(request_id uuid) RETURNS timestamptz
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN to_timestamp(
    ('x' || left(replace(request_id::text, '-', ''), 12))::bit(48)::bigint / 3600000 * 3600);

INSERT INTO usage_by_day
SELECT account_id, day, key_id, model, count(*), sum(input_tokens), sum(cached_input_tokens), sum(cache_write_tokens),
  sum(output_tokens), sum(reasoning_tokens), sum(charge_nano_usd)
FROM usage_event GROUP BY account_id, day, key_id, model;

INSERT INTO usage_by_hour
SELECT account_id, usage_hour(request_id), key_id, model, count(*), sum(input_tokens), sum(cached_input_tokens),
  sum(cache_write_tokens), sum(output_tokens), sum(reasoning_tokens), sum(charge_nano_usd)
FROM usage_event GROUP BY account_id, usage_hour(request_id), key_id, model;

-- A key's usage by day comes from usage_by_day now.
DROP INDEX usage_event_key;

-- Drops the usage rows of days before `keep_from`; entries and rollups stay. Returns how many days.
CREATE FUNCTION drop_usage_before(keep_from date) RETURNS integer
  LANGUAGE plpgsql AS $$
DECLARE
  partition_name text;
  dropped integer := 0;
BEGIN
  FOR partition_name IN
    SELECT child.relname FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
    WHERE inhparent = 'usage_event'::regclass AND child.relname < 'usage_event_' || to_char(keep_from, 'YYYYMMDD')
    ORDER BY child.relname
  LOOP
    EXECUTE format('DROP TABLE %I', partition_name);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END
$$;
