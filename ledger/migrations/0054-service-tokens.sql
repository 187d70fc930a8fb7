-- Tokens that administrators allow to read figures of the whole service.
ALTER TABLE management_token ADD COLUMN reads_service boolean NOT NULL DEFAULT false;
