-- pico-USD per token by class. A row never changes: a request keeps the version that was in force when it was
-- admitted (S28), and every charge can be recomputed from it for ever.
CREATE TABLE price_version (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  model text NOT NULL,
  version integer NOT NULL CHECK (version > 0),
  currency text NOT NULL DEFAULT 'USD' CHECK (currency = 'USD'),
  input_pico_usd bigint NOT NULL CHECK (input_pico_usd >= 0),
  cached_input_pico_usd bigint NOT NULL CHECK (cached_input_pico_usd >= 0),
  cache_write_pico_usd bigint NOT NULL CHECK (cache_write_pico_usd >= 0),
  output_pico_usd bigint NOT NULL CHECK (output_pico_usd >= 0),
  effective_from timestamptz NOT NULL DEFAULT now(),
  UNIQUE (model, version)
);
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON price_version
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE model (
  name text PRIMARY KEY,
  -- contract/catalogue.ts says what is in it.
  spec jsonb NOT NULL,
  price_version_id bigint NOT NULL REFERENCES price_version,
  withdrawn_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  changed_xid bigint NOT NULL DEFAULT current_xid()
);
CREATE INDEX model_changed ON model (changed_xid);
CREATE TRIGGER refuse_delete BEFORE DELETE OR TRUNCATE ON model FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER mark_changed BEFORE INSERT OR UPDATE ON model FOR EACH ROW EXECUTE FUNCTION mark_changed();
CREATE TRIGGER notify_changed AFTER INSERT OR UPDATE ON model FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
