-- The audit log of all accounts, filtered by one action.
CREATE INDEX audit_entry_action ON audit_entry (action, id DESC);
