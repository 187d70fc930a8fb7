-- What an account may use is limited by its owners and by those who run the service, apart from one another: neither
-- undoes the other's. account.limits, which is what processes read, holds the lower of each.
ALTER TABLE account
  ADD COLUMN owner_limits jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(owner_limits) = 'object'),
  ADD COLUMN operator_limits jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(operator_limits) = 'object');
UPDATE account SET operator_limits = limits WHERE limits <> '{}';
