-- Requests for images (S46). The rows that are there satisfied the narrower rule, so the wider one need not read them
-- again: NOT VALID checks what is written from now on. The price of an image may depend on its size and quality: a row
-- has the one that was charged, and what it was for.
ALTER TABLE usage_event DROP CONSTRAINT usage_event_interface_check;
ALTER TABLE usage_event ADD CONSTRAINT usage_event_interface_check
  CHECK (interface IN ('chat', 'messages', 'responses', 'embeddings', 'rerank', 'image_generation')) NOT VALID;
ALTER TABLE usage_event ADD COLUMN charged_unit_pico_usd bigint;
ALTER TABLE usage_event ADD CONSTRAINT usage_event_charged_unit_pico_usd_check CHECK (charged_unit_pico_usd >= 0) NOT VALID;
ALTER TABLE usage_event ADD COLUMN unit_terms text;
