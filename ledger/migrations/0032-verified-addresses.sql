-- When somebody proved that the address is theirs: by a mailed link, or by a provider that verified it.
ALTER TABLE person ADD COLUMN email_verified_at timestamptz;
