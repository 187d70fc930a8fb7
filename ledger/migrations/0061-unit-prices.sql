-- Price and cost of a unit, in pico-USD.
ALTER TABLE model_cost ADD COLUMN unit_pico_usd bigint NOT NULL DEFAULT 0 CHECK (unit_pico_usd >= 0);
ALTER TABLE price_version ADD COLUMN unit_pico_usd bigint NOT NULL DEFAULT 0;
ALTER TABLE price_version ADD CONSTRAINT price_version_unit_pico_usd_check CHECK (unit_pico_usd >= 0) NOT VALID;
