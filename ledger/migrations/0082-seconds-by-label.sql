-- Units by kind: sums may be of Models of several interfaces.
ALTER TABLE usage_by_label ADD COLUMN seconds bigint NOT NULL DEFAULT 0;
