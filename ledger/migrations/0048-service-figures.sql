-- What the whole service took in some days, for those who run it, and the filters of their audit log.
CREATE INDEX payment_paid ON payment (paid_at) WHERE paid_at IS NOT NULL;
CREATE INDEX audit_entry_category ON audit_entry (split_part(action, '.', 1), id DESC);
