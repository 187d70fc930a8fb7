-- Since when a budget has its amount: a budget alerts about the months that had not ended by then, for usage that is settled after
-- the end of its month still counts in it.
ALTER TABLE budget ADD COLUMN set_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE project_budget ADD COLUMN set_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE end_user_budget ADD COLUMN set_at timestamptz NOT NULL DEFAULT now();
