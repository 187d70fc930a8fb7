import process from "node:process";
import { Command } from "commander";
import { readEnvOrExit } from "../../runtime/env.ts";
import { trustExtraRoots } from "../../runtime/extra-roots.ts";
import { checkLedger } from "../upkeep/check.ts";
import { DATABASE_VARIABLES, databaseUrl } from "../postgres/database-url.ts";
import { createDatabase } from "../postgres/database.ts";
import { describeDatabaseFailure } from "../postgres/failure.ts";

new Command("ledger/check-command")
  .description("Compares balances, leases, charges and rollups with the entries of the ledger, and lists the differences.")
  .allowExcessArguments(false)
  .parse();
const environment = readEnvOrExit({ ...DATABASE_VARIABLES }, process.env);
trustExtraRoots(process.env, (sentence) => console.error(sentence));
const database = createDatabase({ url: databaseUrl(environment), applicationName: "ledger check" });
try {
  const differences = await checkLedger(database);
  for (const { check, subject, expected, found } of differences)
    console.log(`${check}: ${subject}: expected ${expected}, found ${found}`);
  console.log(
    differences.length === 0
      ? "The ledger adds up."
      : `${differences.length} ${differences.length === 1 ? "difference" : "differences"}.`,
  );
  process.exitCode = differences.length === 0 ? 0 : 1;
} catch (error) {
  const words = describeDatabaseFailure(error)?.sentence;
  if (words === undefined) throw error;
  console.error(words);
  process.exitCode = 1;
} finally {
  await database.close();
}
