-- Requests for transcriptions (S54). The rows that are there satisfied the narrower rule, so the wider one need not read them
-- again: NOT VALID checks what is written from now on.
ALTER TABLE usage_event DROP CONSTRAINT usage_event_interface_check;
ALTER TABLE usage_event ADD CONSTRAINT usage_event_interface_check
  CHECK (interface IN
    ('chat', 'messages', 'responses', 'embeddings', 'rerank', 'image_generation', 'speech', 'transcription')) NOT VALID;
