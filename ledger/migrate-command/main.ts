import process from "node:process";
import * as z from "zod";
import { readEnv } from "../../runtime/env.ts";
import { createDatabase } from "../database.ts";
import { migrate } from "../migrate.ts";

/** Brings the schema to this program's version. Repeating it does nothing, and any number may run at once. */
const environment = readEnv({ DATABASE_URL: z.string().min(1) }, process.env);
const database = createDatabase({ url: environment.DATABASE_URL, applicationName: "ledger migration" });
try {
  const applied = await migrate(database);
  for (const name of applied) console.log(`applied ${name}`);
  console.log(applied.length === 0 ? "The schema is up to date." : `The schema is up to date; ${applied.length} applied.`);
} finally {
  await database.close();
}
