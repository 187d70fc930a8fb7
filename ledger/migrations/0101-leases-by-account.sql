-- Open leases are found by account, in credit_lease_open. This index has the same leases, so statements that name an account chose
-- it at times, and read all of them. A process's own leases are read when it ends, and may cost a look at each open one.
DROP INDEX credit_lease_holder;
