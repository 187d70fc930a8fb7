-- A person's second factor: codes of an authenticator app (RFC 6238), and recovery codes for when it is lost.
CREATE TABLE person_totp (
  person_id uuid PRIMARY KEY REFERENCES person,
  -- AES-256-GCM under a key made from the pepper, which is not in the database.
  sealed_secret bytea NOT NULL,
  -- Counter of the last code that was taken: none counts twice.
  last_counter bigint NOT NULL
);

CREATE TABLE recovery_code (
  code_hash bytea PRIMARY KEY CHECK (octet_length(code_hash) = 32),
  person_id uuid NOT NULL REFERENCES person
);
CREATE INDEX recovery_code_person ON recovery_code (person_id);
