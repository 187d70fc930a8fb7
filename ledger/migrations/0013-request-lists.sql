-- The list of an account's requests (ledger/request-list.ts) is read through rollups, which name each key and model that
-- an account used in an hour or a day: their newest requests are found here, whatever the list is narrowed to, and
-- settling keeps one index as before. The day is not in it: a partition holds one.
DROP INDEX usage_event_account;
CREATE INDEX usage_event_group ON usage_event (key_id, model COLLATE "C", request_id);

-- Rollups do not tell outcomes. What did not complete is little, so a second index costs most settlements nothing.
CREATE INDEX usage_event_incomplete ON usage_event (account_id, outcome COLLATE "C", day DESC, request_id DESC)
  WHERE outcome <> 'complete';
