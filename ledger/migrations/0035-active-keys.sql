-- extproc reads the keys in force in pages at its start, and what changed later in pages, too: each page is a range of one
-- of these indexes, however many keys were deleted, and however many changed in one transaction.
CREATE INDEX api_key_active ON api_key (public_id) WHERE revoked_at IS NULL;
CREATE INDEX api_key_change_order ON api_key (changed_xid, public_id);
DROP INDEX api_key_changed;

-- A page of an account's list, and how many keys it has; those that it deleted within a day count, too.
CREATE INDEX api_key_list ON api_key (account_id, created_at DESC, public_id DESC) WHERE revoked_at IS NULL;
CREATE INDEX api_key_deleted ON api_key (account_id, revoked_at) WHERE revoked_at IS NOT NULL;
DROP INDEX api_key_account;
