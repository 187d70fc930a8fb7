-- The service through which its person signed in; null: here. Addresses of some domains sign in through one alone.
ALTER TABLE session ADD COLUMN provider text;
