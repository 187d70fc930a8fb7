-- How long the results of a batch are kept after its end; null: as long as the batch.
ALTER TABLE batch ADD COLUMN results_kept_seconds integer;
