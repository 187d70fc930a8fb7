-- Requests whose model server speaks Responses (S44). The rows that are there satisfied the narrower rule, so the wider one need
-- not read them again: NOT VALID checks what is written from now on.
ALTER TABLE usage_event DROP CONSTRAINT usage_event_upstream_protocol_check;
ALTER TABLE usage_event ADD CONSTRAINT usage_event_upstream_protocol_check
  CHECK (upstream_protocol IN ('chat', 'messages', 'responses')) NOT VALID;
