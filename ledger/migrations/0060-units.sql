-- What a request used beside tokens (docs/decisions/0072): searches, for rerank. What a unit is follows from the interface.
ALTER TABLE usage_event ADD COLUMN units bigint NOT NULL DEFAULT 0;
ALTER TABLE usage_event ADD CONSTRAINT usage_event_units_check CHECK (units >= 0) NOT VALID;
