-- The prices of units of the schedule's rules, in their order: [{"unitPicoUsd", "imagePrices"}]; [] if no rule has any. Apart from
-- schedule: version 0.1.0 reads that strictly, and publishes no Model beside one whose schedule has more.
ALTER TABLE price_version ADD COLUMN scheduled_unit_prices jsonb NOT NULL DEFAULT '[]';
