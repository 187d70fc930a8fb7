-- A process needs more of an account's credit than is free, while others have leased some that nothing uses: they see this row
-- change, and give back as much of it (docs/decisions/0006).
ALTER TABLE account_balance
  ADD COLUMN recalled_nano_usd bigint NOT NULL DEFAULT 0,
  ADD COLUMN recalled_at timestamptz;
