-- Users of an account that its identity provider created or found by SCIM, and what it stores with each of them. Members that it
-- has not touched have no row.
CREATE TABLE provisioned_user (
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  -- The person's own id if they were a member already: theirs in each of their accounts.
  id uuid NOT NULL,
  user_name text NOT NULL,
  email text NOT NULL,
  external_id text,
  display_name text,
  given_name text,
  family_name text,
  -- Of the invitation; a member's role is that of the membership. Providers make no owners.
  role text COLLATE "C" NOT NULL CHECK (role IN ('member', 'viewer')),
  is_active boolean NOT NULL,
  -- Null until the invitation is accepted.
  person_id uuid REFERENCES person,
  created_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);
CREATE UNIQUE INDEX provisioned_user_name ON provisioned_user (account_id, lower(user_name));
CREATE UNIQUE INDEX provisioned_user_person ON provisioned_user (account_id, person_id);
