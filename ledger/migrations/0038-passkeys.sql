-- Passkeys (WebAuthn): only the public half is here, so a copy of the database signs nobody in.
CREATE TABLE passkey (
  id uuid PRIMARY KEY,
  person_id uuid NOT NULL REFERENCES person,
  credential_id bytea NOT NULL UNIQUE CHECK (octet_length(credential_id) BETWEEN 1 AND 1023),
  -- In COSE form.
  public_key bytea NOT NULL CHECK (octet_length(public_key) <= 4096),
  -- Grows with each use where the authenticator counts: a copy of the private half shows by falling behind.
  sign_count bigint NOT NULL,
  -- How browsers reach it: "internal", "hybrid", "usb".
  transports text[] NOT NULL,
  name text NOT NULL CHECK (name <> '' AND length(name) <= 100),
  created_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz
);
CREATE INDEX passkey_person ON passkey (person_id);

-- Challenges that a passkey has answered rightly: none counts twice. Those that nobody answered are signed notes, and
-- take no room here.
CREATE TABLE answered_challenge (
  challenge_hash bytea PRIMARY KEY CHECK (octet_length(challenge_hash) = 32),
  expires_at timestamptz NOT NULL
);

-- Did the session's person prove a second factor? Those from before are asked again where one is required.
ALTER TABLE session ADD COLUMN has_second_factor boolean NOT NULL DEFAULT false;
