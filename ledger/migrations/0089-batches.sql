-- Files that customers upload for batches. content is encrypted; names, sizes and times are not.
CREATE TABLE batch_file (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^file-[0-9a-f]{32}$'),
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  name text NOT NULL,
  -- While it is uploaded, as many as it may get: so much is reserved.
  bytes bigint NOT NULL CHECK (bytes >= 0),
  is_complete boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX batch_file_account ON batch_file (account_id, created_at, id);
CREATE INDEX batch_file_expiry ON batch_file (expires_at);

CREATE TABLE batch_file_part (
  file_id text COLLATE "C" NOT NULL REFERENCES batch_file ON DELETE CASCADE,
  number integer NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (file_id, number)
);
-- Ciphertext does not compress.
ALTER TABLE batch_file_part ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE batch (
  id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^(batch|msgbatch)_[0-9a-f]{32}$'),
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  key_id text COLLATE "C" NOT NULL,
  interface text NOT NULL,
  -- Of the requests that came as a file. The file may be deleted before the batch.
  input_file_id text COLLATE "C",
  metadata jsonb,
  -- Feature flags of the requests, as the batch was created with them.
  betas text,
  -- Requests of a batch of messages arrive, those of a file are prepared, then all run. An ending batch sends no further ones.
  state text NOT NULL CHECK (state IN ('arriving', 'preparing', 'running', 'ending', 'ended')),
  -- Why it ends before its requests are done: "canceled", "expired", or an error of the gateway; null: it does not.
  stopped_by text,
  -- {code, message, line}, of a batch that failed.
  errors jsonb NOT NULL DEFAULT '[]',
  -- Bytes of its requests and results.
  bytes bigint NOT NULL DEFAULT 0,
  requests integer NOT NULL DEFAULT 0,
  succeeded integer NOT NULL DEFAULT 0,
  errored integer NOT NULL DEFAULT 0,
  canceled integer NOT NULL DEFAULT 0,
  expired integer NOT NULL DEFAULT 0,
  output_bytes bigint NOT NULL DEFAULT 0,
  error_bytes bigint NOT NULL DEFAULT 0,
  charge_nano_usd bigint NOT NULL DEFAULT 0,
  -- Requests that may be in flight at once; fewer after refusals.
  width integer NOT NULL DEFAULT 1,
  -- Nothing of it is sent before.
  resumes_at timestamptz NOT NULL DEFAULT now(),
  -- Whoever works on it as a whole has it until then.
  taken_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  ending_at timestamptz,
  ended_at timestamptz,
  -- End of the time in which its requests are sent.
  due_at timestamptz NOT NULL,
  -- Then it is deleted, with its results.
  deleted_at timestamptz,
  output_deleted boolean NOT NULL DEFAULT false,
  error_deleted boolean NOT NULL DEFAULT false
);
CREATE INDEX batch_account ON batch (account_id, created_at, id);
CREATE INDEX batch_open ON batch (state, resumes_at) WHERE state <> 'ended';
CREATE INDEX batch_deletion ON batch (deleted_at);

CREATE TABLE batch_request (
  batch_id text COLLATE "C" NOT NULL REFERENCES batch ON DELETE CASCADE,
  number integer NOT NULL,
  custom_id text COLLATE "C" NOT NULL,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'succeeded', 'errored', 'canceled', 'expired')),
  -- Encrypted, as the result. Absent once there is a result.
  body bytea,
  body_bytes integer NOT NULL,
  -- The process that has sent it, while it is sure to run until then.
  taken_by uuid,
  taken_until timestamptz,
  -- How often it was sent without an answer of which the gateway knows that it charged nothing.
  attempts smallint NOT NULL DEFAULT 0,
  -- Under this id it is settled; of the last time that it was sent.
  request_id uuid,
  result bytea,
  result_bytes integer NOT NULL DEFAULT 0,
  PRIMARY KEY (batch_id, number),
  UNIQUE (batch_id, custom_id)
);
ALTER TABLE batch_request ALTER COLUMN body SET STORAGE EXTERNAL, ALTER COLUMN result SET STORAGE EXTERNAL;
CREATE INDEX batch_request_waiting ON batch_request (batch_id, number) WHERE state = 'waiting';
CREATE INDEX batch_request_sent ON batch_request (taken_until) WHERE state = 'sent';
CREATE INDEX batch_request_id ON batch_request (request_id) WHERE request_id IS NOT NULL;
