-- Every process of the gateway reads a changed row, and each settlement changes the balances of its accounts: with many processes,
-- these readings cost more than settling (docs/decisions/0093). What a lease pays changes nothing that another process needs to
-- know: the free credit stays as it was. Leases that grow and return can wait for the next reading, unless somebody waits for what
-- they return.
--
-- One function without WHEN: Postgres would prepare its condition anew for each statement, which takes longer than the call.
CREATE FUNCTION mark_balance() RETURNS trigger
  LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.posted_nano_usd > OLD.posted_nano_usd
    OR NEW.overdraft_nano_usd <> OLD.overdraft_nano_usd
    OR (NEW.posted_nano_usd <= -NEW.overdraft_nano_usd) <> (OLD.posted_nano_usd <= -OLD.overdraft_nano_usd)
    OR (NEW.posted_nano_usd < NEW.leased_nano_usd - NEW.overdraft_nano_usd
      AND OLD.posted_nano_usd >= OLD.leased_nano_usd - OLD.overdraft_nano_usd)
    OR NEW.recalled_at IS DISTINCT FROM OLD.recalled_at
    OR NEW.recalled_nano_usd <> OLD.recalled_nano_usd
    OR (NEW.leased_nano_usd < OLD.leased_nano_usd AND NEW.posted_nano_usd = OLD.posted_nano_usd
      AND OLD.recalled_at > clock_timestamp() - interval '10 seconds')
  THEN
    NEW.changed_xid := current_xid();
    PERFORM pg_notify('ledger_changed', '');
  ELSIF OLD.posted_nano_usd - NEW.posted_nano_usd <> OLD.leased_nano_usd - NEW.leased_nano_usd THEN
    NEW.changed_xid := current_xid();
  END IF;
  RETURN NEW;
END
$$;

DROP TRIGGER mark_changed ON account_balance;
DROP TRIGGER notify_changed ON account_balance;
CREATE TRIGGER mark_added BEFORE INSERT ON account_balance FOR EACH ROW EXECUTE FUNCTION mark_changed();
CREATE TRIGGER notify_added AFTER INSERT ON account_balance FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
CREATE TRIGGER mark_changed BEFORE UPDATE ON account_balance FOR EACH ROW EXECUTE FUNCTION mark_balance();
