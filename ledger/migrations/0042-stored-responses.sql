-- Responses that Models with `responses.storeHours` keep for the next turns of a conversation. input and response are
-- encrypted by extproc; ids, sizes and times are not.
CREATE TABLE stored_response (
  account_id text COLLATE "C" NOT NULL REFERENCES account ON DELETE CASCADE,
  response_id text COLLATE "C" NOT NULL CHECK (response_id <> ''),
  -- The response that this one continues.
  previous_response_id text COLLATE "C",
  store_hours smallint NOT NULL CHECK (store_hours > 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Moves on when a later response continues this one.
  expires_at timestamptz NOT NULL,
  input bytea NOT NULL,
  response bytea NOT NULL,
  PRIMARY KEY (account_id, response_id)
);
-- Ciphertext does not compress.
ALTER TABLE stored_response ALTER COLUMN input SET STORAGE EXTERNAL, ALTER COLUMN response SET STORAGE EXTERNAL;
CREATE INDEX stored_response_expiry ON stored_response (expires_at);

-- Where the items of these responses are, for clients that refer to single items.
CREATE TABLE stored_item (
  account_id text COLLATE "C" NOT NULL,
  item_id text COLLATE "C" NOT NULL,
  response_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (account_id, item_id, response_id),
  FOREIGN KEY (account_id, response_id) REFERENCES stored_response ON DELETE CASCADE
);
CREATE INDEX stored_item_response ON stored_item (account_id, response_id);

-- What each account has stored by hour, so that one of them cannot fill the disk.
CREATE TABLE stored_response_volume (
  account_id text COLLATE "C" NOT NULL REFERENCES account ON DELETE CASCADE,
  hour timestamptz NOT NULL,
  responses integer NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (account_id, hour)
);
CREATE INDEX stored_response_volume_hour ON stored_response_volume (hour);
