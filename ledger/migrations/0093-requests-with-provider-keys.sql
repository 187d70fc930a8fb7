-- The provider whose key the account brought; null: the request was sent with the gateway's.
ALTER TABLE usage_event ADD COLUMN provider_key text;
