-- What requests cost that are sent with an account's own key; null: the Model takes none. Both, or neither.
ALTER TABLE price_version
  ADD COLUMN provider_key_request_pico_usd bigint,
  ADD COLUMN provider_key_millionths bigint;
