-- Credit that is bought with a saved card when an account's balance falls low (S26).

-- The card's number is the provider's alone; here are the names that it gave to the card and to who has it.
CREATE TABLE saved_card (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES account,
  provider text COLLATE "C" NOT NULL CHECK (provider <> ''),
  provider_customer_id text COLLATE "C" NOT NULL CHECK (provider_customer_id <> ''),
  provider_card_id text COLLATE "C" NOT NULL CHECK (provider_card_id <> ''),
  -- For people, such as "visa ending in 4242".
  label text NOT NULL,
  saved_at timestamptz NOT NULL,
  -- The customer wants it no more. The row stays, so that news of before do not bring it back.
  removed_at timestamptz
);

CREATE TABLE auto_top_up (
  account_id text COLLATE "C" PRIMARY KEY REFERENCES account,
  is_on boolean NOT NULL,
  below_nano_usd bigint NOT NULL CHECK (below_nano_usd > 0),
  -- At least the threshold, so that one charge lifts any balance from zero on above it.
  amount_nano_usd bigint NOT NULL CHECK (amount_nano_usd >= below_nano_usd),
  -- In a month of UTC.
  monthly_nano_usd bigint NOT NULL CHECK (monthly_nano_usd >= amount_nano_usd),
  -- Why it went off by itself.
  stopped_because text CHECK (stopped_because IN ('declined', 'returned')),
  -- The owners were told of it.
  is_told boolean NOT NULL DEFAULT true,
  -- The last one. While it is pending there is no other: one fall is one charge.
  last_payment_id uuid REFERENCES payment,
  CHECK (NOT is_on OR stopped_because IS NULL)
);

-- One for each payment that the service began by itself, made with it, before the provider is asked: whoever finds one
-- without an answer asks again with the same key, and with the same card.
CREATE TABLE auto_top_up_charge (
  payment_id uuid PRIMARY KEY REFERENCES payment,
  provider_customer_id text COLLATE "C" NOT NULL,
  provider_card_id text COLLATE "C" NOT NULL,
  -- The provider was asked last.
  tried_at timestamptz,
  -- It took the charge on; its notices tell what became of it.
  answered_at timestamptz
);
CREATE INDEX auto_top_up_charge_unanswered ON auto_top_up_charge (payment_id) WHERE answered_at IS NULL;
