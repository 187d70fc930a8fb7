-- Other prices from a time on, or at hours of the day: a part of the version, which never changes. Which of them a
-- request paid follows from the version and the moment of its admission (ledger/price-schedule.ts).
ALTER TABLE price_version ADD COLUMN schedule jsonb NOT NULL DEFAULT '[]' CHECK (jsonb_typeof(schedule) = 'array');
