-- What processes need to know of an account's provider keys; written with provider_key. Earlier versions do not read it, and serve
-- no Model that takes provider keys (docs/decisions/0042).
ALTER TABLE account
  ADD COLUMN provider_keys jsonb NOT NULL DEFAULT '[]';
ALTER TABLE account
  ADD CONSTRAINT account_provider_keys CHECK (jsonb_typeof(provider_keys) = 'array') NOT VALID;
