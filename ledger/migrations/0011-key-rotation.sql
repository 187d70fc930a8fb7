-- A key that is rotated keeps its public id, its limits and its usage. Its former secret may stay valid for a while, so
-- that whoever uses the key can be moved to the new one without a pause.
ALTER TABLE api_key ADD COLUMN previous_secret_hash bytea CHECK (octet_length(previous_secret_hash) = 32);
ALTER TABLE api_key ADD COLUMN previous_until timestamptz;
ALTER TABLE api_key ADD CHECK ((previous_secret_hash IS NULL) = (previous_until IS NULL));

DROP TRIGGER mark_changed ON api_key;
DROP TRIGGER notify_changed ON api_key;
CREATE TRIGGER mark_changed
  BEFORE INSERT OR UPDATE OF account_id, name, secret_hash, previous_secret_hash, previous_until, disabled_at, revoked_at,
    expires_at, allowed_models, limits ON api_key
  FOR EACH ROW EXECUTE FUNCTION mark_changed();
CREATE TRIGGER notify_changed
  AFTER INSERT OR UPDATE OF account_id, name, secret_hash, previous_secret_hash, previous_until, disabled_at, revoked_at,
    expires_at, allowed_models, limits ON api_key
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
