-- What those who run the service tell customers about an outage or a maintenance, on the status page.
CREATE TABLE incident (
  -- UUIDv7: holds the time at which it was made public.
  id uuid PRIMARY KEY,
  title text NOT NULL CHECK (title <> '' AND length(title) <= 120),
  impact text NOT NULL CHECK (impact IN ('maintenance', 'minor', 'major')),
  -- null: it goes on.
  resolved_at timestamptz
);
CREATE INDEX incident_open ON incident (id) WHERE resolved_at IS NULL;

-- What was said about it, in order. It is not changed afterwards: customers have read it.
CREATE TABLE incident_update (
  id uuid PRIMARY KEY,
  incident_id uuid NOT NULL REFERENCES incident,
  status text NOT NULL CHECK (status IN ('scheduled', 'investigating', 'identified', 'monitoring', 'resolved')),
  message text NOT NULL CHECK (message <> '' AND length(message) <= 2000),
  person_id uuid REFERENCES person
);
CREATE INDEX incident_update_incident ON incident_update (incident_id, id DESC);
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON incident_update
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
