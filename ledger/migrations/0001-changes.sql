-- How extproc's copy in memory follows the tables it mirrors (S25). Each of those tables has a column changed_xid,
-- the id of the transaction that last changed the row. Transaction ids are given when a transaction begins to write,
-- and it may commit after one with a higher id; so a reader asks for rows from pg_snapshot_xmin() of its previous
-- snapshot on: every transaction that was open then has that id or a higher one, and no late committer is missed.
--
-- bigint instead of xid8, because BRIN indexes have no operator class for xid8 (see account_balance).

CREATE FUNCTION current_xid() RETURNS bigint
  LANGUAGE sql VOLATILE
  RETURN pg_current_xact_id()::text::bigint;

CREATE FUNCTION mark_changed() RETURNS trigger
  LANGUAGE plpgsql AS $$
BEGIN
  NEW.changed_xid := current_xid();
  RETURN NEW;
END
$$;

-- Postgres sends equal notices of one transaction once: a batch of settlements is one notice.
CREATE FUNCTION notify_changed() RETURNS trigger
  LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('ledger_changed', '');
  RETURN NULL;
END
$$;

CREATE FUNCTION refuse_change() RETURNS trigger
  LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is not allowed on %: its rows are kept as they are', TG_OP, TG_TABLE_NAME
    USING ERRCODE = 'restrict_violation';
END
$$;
