import process from "node:process";
import { GatewayError } from "../../contract/errors.ts";
import { readEnvOrExit } from "../../runtime/env.ts";
import { trustExtraRoots } from "../../runtime/extra-roots.ts";
import { DATABASE_VARIABLES, databaseUrl } from "../postgres/database-url.ts";
import { createDatabase, type Database } from "../postgres/database.ts";
import { describeDatabaseFailure } from "../postgres/failure.ts";
import { runAccountCommand } from "./command.ts";

let database: Database | undefined;
function connect(): Database {
  const environment = readEnvOrExit({ ...DATABASE_VARIABLES }, process.env);
  trustExtraRoots(process.env, (sentence) => console.error(sentence));
  database = createDatabase({ url: databaseUrl(environment), applicationName: "ledger account" });
  return database;
}

try {
  await runAccountCommand(process.argv.slice(2), { connect, print: (line) => console.log(line) });
} catch (error) {
  // Both have messages for the person who typed the command.
  const words = error instanceof GatewayError ? error.message : describeDatabaseFailure(error)?.sentence;
  if (words === undefined) throw error;
  console.error(words);
  process.exitCode = 1;
} finally {
  await database?.close();
}
