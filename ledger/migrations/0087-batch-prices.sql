-- What a request of a batch costs: {"percent": 50}, of the price in force, or {"price": {…}} with the prices of the tokens.
-- null: the price of any other request.
ALTER TABLE price_version ADD COLUMN batch jsonb;
