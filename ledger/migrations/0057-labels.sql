-- Tags and end users of requests, for the accounts that keep them (docs/decisions/0068). "erasing": nothing new is kept, and what
-- there is is being deleted.
ALTER TABLE account ADD COLUMN labels text NOT NULL DEFAULT 'off';
ALTER TABLE account ADD CONSTRAINT account_labels_check CHECK (labels IN ('off', 'kept', 'erasing')) NOT VALID;

-- One row for each label of a request. Partitions are those of usage_event, and go with them.
CREATE TABLE usage_label (
  day date NOT NULL,
  account_id text COLLATE "C" NOT NULL,
  request_id uuid NOT NULL,
  attempt smallint NOT NULL,
  -- 'end_user', or 'tag:' and the tag's name.
  dimension text COLLATE "C" NOT NULL CHECK (dimension <> '' AND length(dimension) <= 512),
  value text COLLATE "C" NOT NULL CHECK (value <> '' AND length(value) <= 512),
  PRIMARY KEY (day, request_id, attempt, dimension),
  CHECK (day = usage_day(request_id))
) PARTITION BY RANGE (day);
-- The requests of a tag or an end user, newest first.
CREATE INDEX usage_label_value ON usage_label (account_id, dimension, value, request_id);

-- The values that an account's reports tell apart on a day, of which there are only so many; all others count as ''.
CREATE TABLE label_value (
  account_id text COLLATE "C" NOT NULL,
  day date NOT NULL,
  dimension text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
  PRIMARY KEY (account_id, day, dimension, value)
);

-- Usage added up by label: of all keys and models together, and of each. value '': one that is not told apart; dimension 'tag:':
-- tags whose names are not.
CREATE TABLE usage_by_label (
  account_id text COLLATE "C" NOT NULL,
  dimension text COLLATE "C" NOT NULL,
  day date NOT NULL,
  value text COLLATE "C" NOT NULL,
  requests bigint NOT NULL,
  input_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL,
  cache_write_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  charge_nano_usd bigint NOT NULL,
  PRIMARY KEY (account_id, dimension, day, value)
) WITH (fillfactor = 70);
CREATE INDEX usage_by_label_age ON usage_by_label USING brin (day);

CREATE TABLE usage_by_label_and_key (
  account_id text COLLATE "C" NOT NULL,
  dimension text COLLATE "C" NOT NULL,
  value text COLLATE "C" NOT NULL,
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
  PRIMARY KEY (account_id, dimension, value, day, key_id, model)
) WITH (fillfactor = 70);
-- What one key used, by label.
CREATE INDEX usage_by_label_and_key_key ON usage_by_label_and_key (key_id, dimension, day);
CREATE INDEX usage_by_label_and_key_age ON usage_by_label_and_key USING brin (day);

-- Makes the partitions of a day, of usage and of its labels; waits for no reader and no writer.
CREATE OR REPLACE FUNCTION create_usage_partition(wanted date) RETURNS boolean
  LANGUAGE plpgsql AS $$
DECLARE
  parent text;
  partition_name text;
  has_made boolean := false;
BEGIN
  FOREACH parent IN ARRAY ARRAY['usage_event', 'usage_label'] LOOP
    partition_name := parent || '_' || to_char(wanted, 'YYYYMMDD');
    CONTINUE WHEN to_regclass(partition_name) IS NOT NULL;
    EXECUTE format('LOCK TABLE %I IN SHARE UPDATE EXCLUSIVE MODE', parent);
    CONTINUE WHEN to_regclass(partition_name) IS NOT NULL;
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', partition_name, parent);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, partition_name, wanted, wanted + 1);
    has_made := true;
  END LOOP;
  RETURN has_made;
END
$$;

-- Drops the partitions of days before `keep_from`. Returns how many.
CREATE FUNCTION drop_partitions_before(parent text, keep_from date) RETURNS integer
  LANGUAGE plpgsql AS $$
DECLARE
  partition_name text;
  dropped integer := 0;
BEGIN
  FOR partition_name IN
    SELECT child.relname FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
    WHERE inhparent = parent::regclass AND child.relname < parent || '_' || to_char(keep_from, 'YYYYMMDD')
    ORDER BY child.relname
  LOOP
    EXECUTE format('DROP TABLE %I', partition_name);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END
$$;

-- Drops usage rows and their labels of days before `keep_from`; entries and rollups stay. Returns how many days.
CREATE OR REPLACE FUNCTION drop_usage_before(keep_from date) RETURNS integer
  LANGUAGE plpgsql AS $$
BEGIN
  PERFORM drop_partitions_before('usage_label', keep_from);
  RETURN drop_partitions_before('usage_event', keep_from);
END
$$;
