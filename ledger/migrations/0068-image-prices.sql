-- Prices of images by size and quality: [{"size", "quality", "unitPicoUsd"}], in the order in which they are tried.
ALTER TABLE price_version ADD COLUMN image_prices jsonb NOT NULL DEFAULT '[]';
