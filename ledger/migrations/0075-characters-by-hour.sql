-- Units by kind: sums may be of Models of several interfaces.
ALTER TABLE usage_by_hour ADD COLUMN characters bigint NOT NULL DEFAULT 0;
