-- For how many days the prompts and answers of a key's requests are recorded (docs/prompt-log.md); null: none are. A version that
-- does not know the column records nothing.
ALTER TABLE api_key ADD COLUMN prompt_log_days smallint;
ALTER TABLE api_key ADD CONSTRAINT api_key_prompt_log_days CHECK (prompt_log_days BETWEEN 1 AND 30) NOT VALID;
-- Records of requests with lower ids were deleted: processes that recorded one of them may still be on their way here.
ALTER TABLE api_key ADD COLUMN prompt_log_after uuid;

DROP TRIGGER mark_changed ON api_key;
DROP TRIGGER notify_changed ON api_key;
CREATE TRIGGER mark_changed
  BEFORE INSERT OR UPDATE OF account_id, name, secret_hash, previous_secret_hash, previous_until, disabled_at, revoked_at,
    expires_at, allowed_models, limits, prompt_log_days ON api_key
  FOR EACH ROW EXECUTE FUNCTION mark_changed();
CREATE TRIGGER notify_changed
  AFTER INSERT OR UPDATE OF account_id, name, secret_hash, previous_secret_hash, previous_until, disabled_at, revoked_at,
    expires_at, allowed_models, limits, prompt_log_days ON api_key
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();

-- What clients of keys with a prompt log sent and got. content is encrypted by extproc; ids, names, sizes and times are not.
CREATE TABLE prompt_record (
  account_id text COLLATE "C" NOT NULL,
  -- UUIDv7: its place in lists.
  request_id uuid NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  started_at timestamptz NOT NULL,
  -- By the key's days when it was written; if they are fewer now, it is deleted earlier.
  expires_at timestamptz NOT NULL,
  interface text COLLATE "C" NOT NULL,
  -- Null: the request was refused before its model was known.
  model text COLLATE "C",
  is_stream boolean NOT NULL,
  -- Null: the client left before it was answered.
  status smallint,
  -- The client got the answer to its end.
  is_whole boolean NOT NULL,
  -- As they were sent; the record may have less.
  request_bytes integer NOT NULL,
  answer_bytes integer NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (account_id, request_id)
);
-- Ciphertext does not compress.
ALTER TABLE prompt_record ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX prompt_record_key ON prompt_record (account_id, key_id, request_id);
CREATE INDEX prompt_record_expiry ON prompt_record (expires_at);

-- What each account has recorded now, so that one of them cannot fill the disk.
CREATE TABLE prompt_record_total (
  account_id text COLLATE "C" PRIMARY KEY,
  records integer NOT NULL,
  bytes bigint NOT NULL
);

-- Accounts in order: two of these must not wait for each other.
CREATE FUNCTION add_prompt_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO prompt_record_total AS total (account_id, records, bytes)
  SELECT account_id, count(*), sum(octet_length(content)) FROM added GROUP BY account_id ORDER BY account_id
  ON CONFLICT (account_id) DO UPDATE SET records = total.records + excluded.records, bytes = total.bytes + excluded.bytes;
  RETURN NULL;
END $$;
CREATE FUNCTION subtract_prompt_records() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM prompt_record_total WHERE account_id IN (SELECT account_id FROM removed) ORDER BY account_id FOR UPDATE;
  UPDATE prompt_record_total AS total SET records = total.records - gone.records, bytes = total.bytes - gone.bytes
  FROM (
    SELECT account_id, count(*)::integer AS records, sum(octet_length(content)) AS bytes FROM removed GROUP BY account_id
  ) AS gone
  WHERE total.account_id = gone.account_id;
  RETURN NULL;
END $$;
CREATE TRIGGER add_to_total AFTER INSERT ON prompt_record REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION add_prompt_records();
CREATE TRIGGER subtract_from_total AFTER DELETE ON prompt_record REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION subtract_prompt_records();
