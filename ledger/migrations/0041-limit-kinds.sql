-- The kinds of limits are listed once, in contract/limits.ts.
ALTER TABLE limit_use DROP CONSTRAINT limit_use_kind_check;
