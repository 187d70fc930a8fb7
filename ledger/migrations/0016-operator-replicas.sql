-- How far the Envoys of each replica of the operator are. The one that publishes the catalogue waits for those of the
-- others as well: an Envoy asks only one replica for its configuration. A replica that is gone writes no more, and its
-- row no longer counts. Nothing here needs to outlive a crash of the database.
CREATE UNLOGGED TABLE operator_replica (
  replica text COLLATE "C" PRIMARY KEY,
  -- ledger/replicas.ts says what is in it.
  standing jsonb NOT NULL,
  seen_at timestamptz NOT NULL
);
