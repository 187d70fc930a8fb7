-- What each account has stored now. Triggers keep it, so that it is right whoever writes or deletes, earlier versions included.
-- Rows that come or go while this is counted may be missed; an account is counted again before anything is dropped for it.
CREATE TABLE stored_response_total (
  account_id text COLLATE "C" PRIMARY KEY,
  responses integer NOT NULL CHECK (responses >= 0),
  bytes bigint NOT NULL CHECK (bytes >= 0)
);

INSERT INTO stored_response_total (account_id, responses, bytes)
SELECT account_id, count(*), sum(octet_length(input) + octet_length(response)) FROM stored_response GROUP BY account_id;

-- Accounts in order: two of these must not wait for each other.
CREATE FUNCTION add_stored_responses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO stored_response_total AS total (account_id, responses, bytes)
  SELECT account_id, count(*), sum(octet_length(input) + octet_length(response))
  FROM added GROUP BY account_id ORDER BY account_id
  ON CONFLICT (account_id) DO UPDATE SET responses = total.responses + excluded.responses, bytes = total.bytes + excluded.bytes;
  RETURN NULL;
END $$;
CREATE FUNCTION subtract_stored_responses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM stored_response_total WHERE account_id IN (SELECT account_id FROM removed) ORDER BY account_id FOR UPDATE;
  UPDATE stored_response_total AS total
  SET responses = greatest(0, total.responses - gone.responses), bytes = greatest(0, total.bytes - gone.bytes)
  FROM (
    SELECT account_id, count(*)::integer AS responses, sum(octet_length(input) + octet_length(response)) AS bytes
    FROM removed GROUP BY account_id
  ) AS gone
  WHERE total.account_id = gone.account_id;
  RETURN NULL;
END $$;
CREATE TRIGGER add_to_total AFTER INSERT ON stored_response REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION add_stored_responses();
CREATE TRIGGER subtract_from_total AFTER DELETE ON stored_response REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION subtract_stored_responses();
