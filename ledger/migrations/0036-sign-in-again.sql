-- When somebody last proved who they are in this session: money settings and tokens take a recent proof.
ALTER TABLE session ADD COLUMN authenticated_at timestamptz NOT NULL DEFAULT now();

-- What each person did, newest first: their own security log.
CREATE INDEX audit_entry_person ON audit_entry (person_id, id DESC);
