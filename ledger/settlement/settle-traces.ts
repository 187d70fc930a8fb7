/**
 * The part of the settling statement that queues new rows (`fresh`, in `hourly` groups) for the accounts that export traces.
 * Their numbers are in the order of commits, and without gaps: the account's balance is locked, so its batches settle one by one.
 * Should a number be there already, as after a repair by hand, a trace is lost, and no money.
 */
export const QUEUE_TRACES = `, exported AS (
    UPDATE trace_account SET last_number = last_number + requests
    FROM (SELECT account_id, sum(requests)::bigint AS requests FROM hourly GROUP BY account_id) AS counted
    WHERE trace_account.account_id = counted.account_id AND is_exported
    RETURNING trace_account.account_id, last_number - requests AS before
  ), queued AS (
    INSERT INTO trace_request (account_id, number, day, request_id, attempt)
    SELECT account_id, before + row_number() OVER (PARTITION BY account_id ORDER BY request_id, attempt), day, request_id, attempt
    FROM fresh JOIN exported USING (account_id)
    ON CONFLICT DO NOTHING
  )`;
