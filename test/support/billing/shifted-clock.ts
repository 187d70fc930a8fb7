import * as z from "zod";
import type { Database } from "../../../ledger/postgres/database.ts";
import type { TestDatabase } from "./postgres.ts";

export interface ShiftedClock {
  /** A pool on the database whose clock it is. */
  database: Database;
  connect: TestDatabase["connect"];
  /** Postgres' clock is ahead of everybody else's by so much from now on; behind, if below zero. */
  shift(byMs: number): Promise<void>;
}

/**
 * Gives a migrated database a clock of its own: what statements, defaults and functions read as the time is shifted. Postgres looks
 * for a function in `clock` first, and has looked for those of defaults when it read them.
 */
export async function withShiftedClock({ database: unshifted, connect }: TestDatabase): Promise<ShiftedClock> {
  await unshifted.execute(`
    CREATE SCHEMA clock;
    CREATE TABLE clock.ahead (by interval NOT NULL);
    INSERT INTO clock.ahead VALUES ('0');
    CREATE FUNCTION clock.ahead() RETURNS interval STABLE LANGUAGE sql AS 'SELECT by FROM clock.ahead';
    CREATE FUNCTION clock.now() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT pg_catalog.now() + clock.ahead()';
    CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
      AS 'SELECT pg_catalog.clock_timestamp() + clock.ahead()';
    CREATE FUNCTION clock.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql
      AS 'SELECT pg_catalog.statement_timestamp() + clock.ahead()';
    CREATE FUNCTION clock.uuidv7() RETURNS uuid VOLATILE LANGUAGE sql AS 'SELECT pg_catalog.uuidv7(clock.ahead())'`);
  const [own] = await unshifted.query({ text: "SELECT current_database() AS name", row: z.strictObject({ name: z.string() }) });
  await unshifted.execute(`ALTER DATABASE ${own?.name} SET search_path = clock, pg_catalog, public`);
  const database = connect("shifted clock");
  await database.execute(`
    DO $$ DECLARE own record; BEGIN
      FOR own IN SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' AND column_default = 'pg_catalog.now()' LOOP
        EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET DEFAULT now()', own.table_name, own.column_name);
      END LOOP;
    END $$`);
  return {
    database,
    connect,
    async shift(byMs) {
      await unshifted.execute("UPDATE clock.ahead SET by = $1 * interval '1 millisecond'", [byMs]);
    },
  };
}
