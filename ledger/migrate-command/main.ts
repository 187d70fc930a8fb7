import process from "node:process";
import { Command } from "commander";
import { readEnvOrExit } from "../../runtime/env.ts";
import { trustExtraRoots } from "../../runtime/extra-roots.ts";
import { DATABASE_VARIABLES, databaseUrl } from "../postgres/database-url.ts";
import { createDatabase } from "../postgres/database.ts";
import { migrate } from "../postgres/migrate.ts";
import { describeMigrationFailure } from "./failure.ts";

/** The chart's Job does not retry after it. */
const FINAL_FAILURE = 2;

/**
 * Brings the schema to this program's version. Repeating it does nothing, and any number may run at once. Exit codes: 0, done; 1,
 * a retry may help; 2, it cannot.
 */
new Command("ledger/migrate-command")
  .description("Brings the schema of the database to this version. Repeating it does nothing.")
  .allowExcessArguments(false)
  .parse();
const environment = readEnvOrExit({ ...DATABASE_VARIABLES }, process.env);
trustExtraRoots(process.env, (sentence) => console.error(sentence));
const database = createDatabase({ url: databaseUrl(environment), applicationName: "ledger migration" });
try {
  const onLocked = (name: string) => console.log(`${name} waits for a table that is in use`);
  const applied = await migrate(database, { onLocked });
  for (const name of applied) console.log(`applied ${name}`);
  console.log(applied.length === 0 ? "The schema is up to date." : `The schema is up to date; ${applied.length} applied.`);
} catch (error) {
  const { sentence, isFinal } = describeMigrationFailure(error);
  console.error(`The migration failed. ${sentence}`);
  process.exitCode = isFinal ? FINAL_FAILURE : 1;
} finally {
  await database.close();
}
