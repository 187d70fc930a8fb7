import process from "node:process";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { readEnv } from "../../runtime/env.ts";
import { createDatabase } from "../postgres/database.ts";
import { describeDatabaseFailure } from "../postgres/failure.ts";
import { runAccountCommand } from "./command.ts";

const environment = readEnv({ DATABASE_URL: z.string().min(1) }, process.env);
const database = createDatabase({ url: environment.DATABASE_URL, applicationName: "ledger account" });
try {
  await runAccountCommand(process.argv.slice(2), { database, print: (line) => console.log(line) });
} catch (error) {
  // Both are made for whoever typed the command.
  const words = error instanceof GatewayError ? error.message : describeDatabaseFailure(error)?.sentence;
  if (words === undefined) throw error;
  console.error(words);
  process.exitCode = 1;
} finally {
  await database.close();
}
