-- Whether requests may be sent with the gateway's credential, at the model's price, while the key cannot be used.
ALTER TABLE provider_key ADD COLUMN falls_back boolean NOT NULL DEFAULT false;
