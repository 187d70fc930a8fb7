-- What a model costs those who run the service, as its Model states it. The last row of a UTC day counts for all of the day;
-- a row without amounts: not known from then on.
CREATE TABLE model_cost (
  model text COLLATE "C" NOT NULL,
  since timestamptz NOT NULL DEFAULT now(),
  input_pico_usd bigint CHECK (input_pico_usd >= 0),
  cached_input_pico_usd bigint CHECK (cached_input_pico_usd >= 0),
  cache_write_pico_usd bigint CHECK (cache_write_pico_usd >= 0),
  output_pico_usd bigint CHECK (output_pico_usd >= 0),
  PRIMARY KEY (model, since),
  CHECK (num_nulls(input_pico_usd, cached_input_pico_usd, cache_write_pico_usd, output_pico_usd) IN (0, 4))
);
CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON model_cost
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
