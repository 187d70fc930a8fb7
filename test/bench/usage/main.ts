import { parseArgs } from "node:util";
import * as z from "zod";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import { DAYS, loadUsage } from "./load.ts";
import { measure } from "./measure.ts";
import { reportsOf } from "./reports.ts";
import { withServer } from "./server.ts";

/**
 * `npm run bench:usage`: what the dashboard's pages ask for, over `--rows` requests (1,000,000) of 90 days. `--data` names
 * a directory that is kept, and used as it is the next time; `--plans` prints how each statement was carried out.
 */
const TARGET_MS = 50;

const { values: options } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    workers: { type: "string", default: "2" },
    data: { type: "string" },
    plans: { type: "boolean", default: false },
  },
});

await withServer(options.data, async (connect) => {
  const database = connect("bench");
  await migrate(database);
  const [loaded] = await database.query({
    text: "SELECT max(day) AS day FROM usage_by_day",
    row: z.strictObject({ day: z.string().nullable() }),
  });
  const lastDay = loaded?.day ?? new Date().toISOString().slice(0, 10);
  if (loaded?.day === null)
    await loadUsage({
      rows: Number(options.rows),
      days: DAYS,
      lastDay,
      database: connect("bench load"),
      workers: Number(options.workers),
      log: (line) => console.log(line),
    });

  const table: Record<string, Record<string, string>> = {};
  for (const report of reportsOf(lastDay)) {
    const { name, firstMs, p50Ms, p99Ms, plans } = await measure(report, () => connect("bench report"));
    table[name] = {
      "first (ms)": firstMs.toFixed(1),
      "p50 (ms)": p50Ms.toFixed(1),
      "p99 (ms)": p99Ms.toFixed(1),
      "": p99Ms > TARGET_MS ? `over ${TARGET_MS} ms` : "",
    };
    if (options.plans) for (const plan of plans) console.log(`${name}\n${plan}\n`);
  }
  console.table(table);
});
