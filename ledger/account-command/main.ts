import process from "node:process";
import { GatewayError } from "../../contract/errors.ts";
import { readEnvOrExit } from "../../runtime/env.ts";
import { DATABASE_VARIABLES, databaseUrl } from "../postgres/database-url.ts";
import { createDatabase } from "../postgres/database.ts";
import { describeDatabaseFailure } from "../postgres/failure.ts";
import { runAccountCommand } from "./command.ts";

const environment = readEnvOrExit({ ...DATABASE_VARIABLES }, process.env);
const database = createDatabase({ url: databaseUrl(environment), applicationName: "ledger account" });
try {
  await runAccountCommand(process.argv.slice(2), { database, print: (line) => console.log(line) });
} catch (error) {
  // Both have messages for the person who typed the command.
  const words = error instanceof GatewayError ? error.message : describeDatabaseFailure(error)?.sentence;
  if (words === undefined) throw error;
  console.error(words);
  process.exitCode = 1;
} finally {
  await database.close();
}
