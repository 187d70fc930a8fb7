-- Keys that ApiKey resources stand for (S35). What is repeated about a resource finds its key by the resource's uid,
-- which Kubernetes never gives twice.
CREATE TABLE resource_key (
  uid uuid PRIMARY KEY,
  public_id text COLLATE "C" NOT NULL UNIQUE REFERENCES api_key,
  -- Which installation of the operator saw the resource last: only that one may take it for gone.
  origin text NOT NULL,
  namespace text NOT NULL,
  name text NOT NULL,
  -- spec.rotation.generation of the secret that is stored.
  rotation bigint NOT NULL DEFAULT 0 CHECK (rotation >= 0)
);
CREATE INDEX resource_key_place ON resource_key (namespace, name);
