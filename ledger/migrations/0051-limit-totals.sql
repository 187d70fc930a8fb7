-- Each row is one limit in one period, over all processes: a process adds what it has used since its last turn and replaces what
-- it had reserved, so that a turn costs the same however many processes there are (docs/decisions/0063).
CREATE TABLE limit_total (
  -- 'key' or 'account', a colon, its id.
  subject text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  period_start timestamptz NOT NULL,
  -- Used in the period; 0 for limits without a period.
  used bigint NOT NULL DEFAULT 0,
  -- Processes that have taken a turn in the period.
  met integer NOT NULL DEFAULT 0,
  -- What processes have in use and in reserve now. It counts in the term in which they reported it, and in the next: what a dead
  -- process held frees itself.
  term bigint NOT NULL DEFAULT 0,
  running_before bigint NOT NULL DEFAULT 0,
  running bigint NOT NULL DEFAULT 0,
  reserved_before bigint NOT NULL DEFAULT 0,
  reserved bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (subject, kind, period_start)
) WITH (fillfactor = 50);
CREATE INDEX limit_total_period ON limit_total (period_start);

CREATE TABLE limit_process (
  holder text COLLATE "C" PRIMARY KEY,
  -- The last turn that counted: repeating it changes nothing.
  turn bigint NOT NULL,
  seen_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- Processes of the previous version report to limit_use until they are replaced: what they use counts here, too.
CREATE FUNCTION add_limit_use() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO limit_total AS total (subject, kind, period_start, used)
  VALUES (NEW.subject, NEW.kind, NEW.period_start, NEW.used - CASE TG_OP WHEN 'UPDATE' THEN OLD.used ELSE 0 END)
  ON CONFLICT (subject, kind, period_start) DO UPDATE SET used = total.used + excluded.used;
  RETURN NULL;
END $$;
CREATE TRIGGER add_limit_use AFTER INSERT OR UPDATE ON limit_use
  FOR EACH ROW WHEN (NEW.period_start > 'epoch') EXECUTE FUNCTION add_limit_use();

INSERT INTO limit_total (subject, kind, period_start, used)
SELECT subject, kind, period_start, sum(used) FROM limit_use
WHERE period_start > 'epoch' AND (kind IN ('day', 'month') OR period_start > now() - interval '2 minutes')
GROUP BY subject, kind, period_start;
