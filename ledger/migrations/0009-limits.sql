-- What keys and accounts may use (S23): contract/limits.ts says what is in it.
ALTER TABLE account ADD COLUMN limits jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(limits) = 'object');
ALTER TABLE api_key ADD COLUMN limits jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(limits) = 'object');

DROP TRIGGER mark_changed ON api_key;
DROP TRIGGER notify_changed ON api_key;
CREATE TRIGGER mark_changed
  BEFORE INSERT OR UPDATE OF account_id, name, secret_hash, disabled_at, revoked_at, expires_at, allowed_models, limits ON api_key
  FOR EACH ROW EXECUTE FUNCTION mark_changed();
CREATE TRIGGER notify_changed
  AFTER INSERT OR UPDATE OF account_id, name, secret_hash, disabled_at, revoked_at, expires_at, allowed_models, limits ON api_key
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();

-- What each process has used of a limit in a period, as it counts itself, and how far it may go before it asks again:
-- written whole, so that a repetition changes nothing. Processes meet here about once a second, one after another.
CREATE TABLE limit_use (
  -- 'key' or 'account', a colon, its id.
  subject text COLLATE "C" NOT NULL,
  kind text NOT NULL CHECK (kind IN ('requests', 'tokens', 'concurrent', 'day', 'month')),
  period_start timestamptz NOT NULL,
  holder text COLLATE "C" NOT NULL,
  used bigint NOT NULL,
  claimed bigint NOT NULL,
  PRIMARY KEY (subject, kind, period_start, holder)
) WITH (fillfactor = 50);
CREATE INDEX limit_use_period ON limit_use (period_start);

CREATE TABLE limit_holder (
  holder text COLLATE "C" PRIMARY KEY,
  seen_at timestamptz NOT NULL
);
