CREATE TABLE account (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  name text NOT NULL CHECK (name <> ''),
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  created_at timestamptz NOT NULL DEFAULT now(),
  changed_xid bigint NOT NULL DEFAULT current_xid()
);
CREATE INDEX account_changed ON account (changed_xid);

-- A projection of ledger_entry, changed in the transaction that appends the entry. posted may fall below zero: what
-- was used is charged, also when it was more than the rest.
-- One row may change many times a second. With half of each page free, and no B-tree over a column that changes, an
-- update stays on its page and touches no index. BRIN is the one kind of index that allows this (PostgreSQL 16 on).
CREATE TABLE account_balance (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES account,
  posted_nano_usd bigint NOT NULL DEFAULT 0,
  leased_nano_usd bigint NOT NULL DEFAULT 0 CHECK (leased_nano_usd >= 0),
  overdraft_nano_usd bigint NOT NULL DEFAULT 0 CHECK (overdraft_nano_usd >= 0),
  version bigint NOT NULL DEFAULT 0,
  changed_xid bigint NOT NULL DEFAULT current_xid()
) WITH (fillfactor = 50);
CREATE INDEX account_balance_changed ON account_balance USING brin (changed_xid) WITH (pages_per_range = 4, autosummarize = on);

CREATE TABLE api_key (
  public_id text COLLATE "C" PRIMARY KEY CHECK (public_id ~ '^[0-9A-Za-z]{12}$'),
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  name text NOT NULL CHECK (name <> ''),
  -- HMAC-SHA256 of the secret part; the secret itself is stored nowhere (S24).
  secret_hash bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
  disabled_at timestamptz,
  revoked_at timestamptz,
  expires_at timestamptz,
  -- NULL: all models.
  allowed_models text[],
  created_at timestamptz NOT NULL DEFAULT now(),
  -- To the minute; no part of what is mirrored, so the triggers below do not fire for it.
  last_used_at timestamptz,
  changed_xid bigint NOT NULL DEFAULT current_xid()
);
CREATE INDEX api_key_account ON api_key (account_id, created_at);
CREATE INDEX api_key_changed ON api_key (changed_xid);

-- Readers of changes see no deletions: mirrored rows are marked instead.
CREATE TRIGGER refuse_delete BEFORE DELETE OR TRUNCATE ON account FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_delete BEFORE DELETE OR TRUNCATE ON account_balance FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER refuse_delete BEFORE DELETE OR TRUNCATE ON api_key FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER mark_changed BEFORE INSERT OR UPDATE ON account FOR EACH ROW EXECUTE FUNCTION mark_changed();
CREATE TRIGGER notify_changed AFTER INSERT OR UPDATE ON account FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
CREATE TRIGGER mark_changed BEFORE INSERT OR UPDATE ON account_balance FOR EACH ROW EXECUTE FUNCTION mark_changed();
CREATE TRIGGER notify_changed AFTER INSERT OR UPDATE ON account_balance FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
CREATE TRIGGER mark_changed
  BEFORE INSERT OR UPDATE OF account_id, name, secret_hash, disabled_at, revoked_at, expires_at, allowed_models ON api_key
  FOR EACH ROW EXECUTE FUNCTION mark_changed();
CREATE TRIGGER notify_changed
  AFTER INSERT OR UPDATE OF account_id, name, secret_hash, disabled_at, revoked_at, expires_at, allowed_models ON api_key
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
