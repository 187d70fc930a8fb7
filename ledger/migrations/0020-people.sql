-- People who sign in to the dashboard (S24). Whatever opens something (a session, a reset, an invitation) is stored as a
-- hash: a copy of the database lets nobody in.
CREATE TABLE person (
  id uuid PRIMARY KEY,
  -- As it was written; unique without regard to case.
  email text NOT NULL CHECK (email ~ '^[^@[:space:]]+@[^@[:space:]]+$' AND length(email) <= 254),
  name text NOT NULL CHECK (name <> '' AND length(name) <= 100),
  -- argon2id, in its own text form with its parameters.
  password_hash text NOT NULL,
  is_admin boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX person_email ON person (lower(email));

CREATE TABLE member (
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  person_id uuid NOT NULL REFERENCES person,
  role text NOT NULL CHECK (role IN ('owner', 'member', 'viewer')),
  since timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, person_id)
);
CREATE INDEX member_person ON member (person_id);

CREATE TABLE invitation (
  token_hash bytea PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  email text NOT NULL,
  role text NOT NULL CHECK (role IN ('owner', 'member', 'viewer')),
  invited_by uuid NOT NULL REFERENCES person,
  expires_at timestamptz NOT NULL
);

CREATE TABLE session (
  token_hash bytea PRIMARY KEY,
  person_id uuid NOT NULL REFERENCES person,
  -- The account in view.
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  user_agent text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX session_person ON session (person_id);

CREATE TABLE password_reset (
  token_hash bytea PRIMARY KEY,
  person_id uuid NOT NULL REFERENCES person,
  expires_at timestamptz NOT NULL
);

-- Failed sign-ins, by what was tried and from where.
CREATE TABLE sign_in_failure (
  subject text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sign_in_failure_subject ON sign_in_failure (subject, at);

-- Who has done what; never a secret.
CREATE TABLE audit_entry (
  id uuid PRIMARY KEY,
  account_id text COLLATE "C" REFERENCES account,
  person_id uuid REFERENCES person,
  action text NOT NULL,
  subject text NOT NULL
);
CREATE INDEX audit_entry_account ON audit_entry (account_id, id DESC);
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entry FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
