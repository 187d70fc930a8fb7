-- Where an account's events are sent to: several endpoints, each with the events that it wants (docs/decisions/0085). Apart from
-- webhook and webhook_delivery: earlier versions use those, and know one endpoint for the events of budgets.
CREATE TABLE webhook_endpoint (
  id uuid PRIMARY KEY,
  account_id text COLLATE "C" NOT NULL REFERENCES account,
  url text NOT NULL,
  events text[] NOT NULL,
  sealed_secret bytea NOT NULL,
  -- After a rotation, events are signed with this one too, until the given time.
  previous_sealed_secret bytea,
  previous_until timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- When it last accepted an event.
  accepted_at timestamptz,
  -- When an event was last left out, because too many were waiting.
  dropped_at timestamptz,
  disabled_at timestamptz,
  -- By whom or what.
  disabled_by text COLLATE "C" CHECK (disabled_by IN ('owner', 'failures')),
  -- Nobody has been told yet that failures disabled it.
  is_mail_due boolean NOT NULL DEFAULT false,
  CHECK ((disabled_at IS NULL) = (disabled_by IS NULL))
);
CREATE INDEX webhook_endpoint_account ON webhook_endpoint (account_id);
CREATE INDEX webhook_endpoint_mail_due ON webhook_endpoint (id) WHERE is_mail_due;

-- An event on its way to one endpoint.
CREATE TABLE event_delivery (
  -- UUIDv7: its place in the endpoint's queue.
  id uuid PRIMARY KEY,
  endpoint_id uuid NOT NULL REFERENCES webhook_endpoint ON DELETE CASCADE,
  -- The same for every endpoint and attempt.
  event_id uuid NOT NULL,
  type text COLLATE "C" NOT NULL,
  body text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  attempts smallint NOT NULL DEFAULT 0,
  -- NULL: it was delivered, or given up.
  next_attempt_at timestamptz DEFAULT now(),
  delivered_at timestamptz,
  -- Why the last attempt failed.
  problem text
);
CREATE INDEX event_delivery_endpoint ON event_delivery (endpoint_id, id);
CREATE INDEX event_delivery_waiting ON event_delivery (endpoint_id, id) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX event_delivery_overtaken ON event_delivery (endpoint_id, next_attempt_at)
  WHERE next_attempt_at IS NOT NULL AND attempts >= 4;
CREATE INDEX event_delivery_age ON event_delivery (created_at);

-- What the endpoints of an account were last told about its balance.
CREATE TABLE balance_event (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES account,
  is_low boolean NOT NULL,
  is_exhausted boolean NOT NULL
);

-- Keys whose owners' endpoints were told that they expire soon, and when they were to expire.
CREATE TABLE key_expiry_event (
  key_id text COLLATE "C" PRIMARY KEY REFERENCES api_key,
  expires_at timestamptz NOT NULL
);

INSERT INTO webhook_endpoint (id, account_id, url, events, sealed_secret, created_at)
SELECT gen_random_uuid(), account_id, url, ARRAY['budget.threshold_reached'], sealed_secret, created_at FROM webhook;

-- The endpoint that an earlier version sees as the account's webhook.
CREATE FUNCTION single_webhook(of_account text) RETURNS uuid LANGUAGE sql STABLE AS $$
  SELECT id FROM webhook_endpoint
  WHERE account_id = of_account AND disabled_at IS NULL AND 'budget.threshold_reached' = ANY (events)
  ORDER BY created_at, id LIMIT 1
$$;

-- The two tables follow each other, so that an earlier version, next to this one or after a rollback, sends the events of budgets
-- to the same address with the same secret, and what is set there is kept. Only a program's own change is followed.
CREATE FUNCTION follow_webhook_endpoint() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed text;
BEGIN
  IF TG_OP = 'DELETE' THEN changed := OLD.account_id; ELSE changed := NEW.account_id; END IF;
  INSERT INTO webhook (account_id, url, sealed_secret, created_at)
  SELECT account_id, url, sealed_secret, created_at FROM webhook_endpoint WHERE id = single_webhook(changed)
  ON CONFLICT (account_id) DO UPDATE SET url = excluded.url, sealed_secret = excluded.sealed_secret, created_at = excluded.created_at;
  IF NOT FOUND THEN DELETE FROM webhook WHERE account_id = changed; END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER follow_endpoint AFTER INSERT OR DELETE OR UPDATE OF url, events, sealed_secret, disabled_at ON webhook_endpoint
  FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION follow_webhook_endpoint();

CREATE FUNCTION follow_webhook() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM webhook_endpoint WHERE id = single_webhook(OLD.account_id);
    RETURN NULL;
  END IF;
  UPDATE webhook_endpoint
  SET url = NEW.url, sealed_secret = NEW.sealed_secret, previous_sealed_secret = NULL, previous_until = NULL
  WHERE id = single_webhook(NEW.account_id);
  IF NOT FOUND THEN
    INSERT INTO webhook_endpoint (id, account_id, url, events, sealed_secret)
    VALUES (gen_random_uuid(), NEW.account_id, NEW.url, ARRAY['budget.threshold_reached'], NEW.sealed_secret);
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER follow_webhook AFTER INSERT OR DELETE OR UPDATE ON webhook
  FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION follow_webhook();
