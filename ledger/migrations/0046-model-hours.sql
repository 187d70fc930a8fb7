-- How each model answered in each hour, all accounts together, for the models' and the status page. Hours are added up in
-- the background from usage_event, and outlive it.
CREATE TABLE model_hour (
  model text COLLATE "C" NOT NULL,
  -- Start of the UTC hour.
  hour timestamptz NOT NULL,
  answered integer NOT NULL CHECK (answered > 0),
  failed integer NOT NULL CHECK (failed BETWEEN 0 AND answered),
  PRIMARY KEY (model, hour)
);
CREATE INDEX model_hour_time ON model_hour (hour);

-- One row: hours before this one are added up.
CREATE TABLE model_hour_progress (
  is_only_row boolean PRIMARY KEY DEFAULT true CHECK (is_only_row),
  until timestamptz NOT NULL
);
INSERT INTO model_hour_progress (until)
SELECT date_trunc('hour', now() - interval '30 days', 'UTC');
