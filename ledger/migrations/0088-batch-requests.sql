-- Whether a request belongs to a batch, and so has the batch price of its price version.
ALTER TABLE usage_event ADD COLUMN is_batch boolean NOT NULL DEFAULT false;
