-- How fast and how well an account's requests were answered, for the page that draws it. Added up in the background from
-- usage_event, which they outlive. Each row is a histogram of one measure: bins[i] is what performance_bin says of the
-- values of counts[i] requests; of `failed`, bin 1 holds the requests that failed and bin 0 the others.
CREATE TABLE performance_by_hour (
  account_id text COLLATE "C" NOT NULL,
  measure text COLLATE "C" NOT NULL CHECK (measure IN ('failed', 'duration', 'first_token', 'speed')),
  -- Start of the UTC hour.
  hour timestamptz NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  bins smallint[] NOT NULL,
  counts integer[] NOT NULL,
  PRIMARY KEY (account_id, measure, hour, key_id, model)
);
CREATE INDEX performance_by_hour_time ON performance_by_hour (hour);

CREATE TABLE performance_by_day (
  account_id text COLLATE "C" NOT NULL,
  measure text COLLATE "C" NOT NULL CHECK (measure IN ('failed', 'duration', 'first_token', 'speed')),
  day date NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  bins smallint[] NOT NULL,
  counts integer[] NOT NULL,
  PRIMARY KEY (account_id, measure, day, key_id, model)
);

-- One row: hours before this one are added up.
CREATE TABLE performance_progress (
  is_only_row boolean PRIMARY KEY DEFAULT true CHECK (is_only_row),
  until timestamptz NOT NULL
);
INSERT INTO performance_progress (until)
SELECT date_trunc('hour', now() - interval '30 days', 'UTC');

-- Eight bins to each doubling, so that a percentile is off by 5 % at most: bin b holds values above 2^((b-1)/8), up to
-- 2^(b/8); bin 0 those up to 1.
CREATE FUNCTION performance_bin(value double precision) RETURNS smallint
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN ceil(ln(greatest(value, 1)) / ln(2::double precision) * 8)::smallint;

-- The lowest UUIDv7 that a request can have which begins at this moment.
CREATE FUNCTION lowest_request_id(at timestamptz) RETURNS uuid
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid;
