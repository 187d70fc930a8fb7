import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { createApp } from "../../../dashboard/app.ts";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import { setAdmin } from "../../../ledger/people/admins.ts";
import { addOwner, findPersonByEmail } from "../../../ledger/people/persons.ts";
import { startSession } from "../../../ledger/sign-in/sessions.ts";
import { createLog } from "../../../runtime/log.ts";
import { DAYS, LARGEST, loadUsage } from "../usage/load.ts";
import { withServer } from "../usage/server.ts";
import { seedLists } from "./lists.ts";

/**
 * `npm run bench:pages`: time in the server and size of the dashboard's pages, for an account with a million requests: a
 * tenth of `--rows`, or with `--alone` all of them; and with ten thousand keys and audit entries, beside ten thousand
 * further accounts. `--data` names a directory that is kept, and used as it is the next time.
 */
const RUNS = 50;
const PAGES = [
  "/dashboard",
  "/dashboard/keys",
  "/dashboard/keys?sort=spend",
  "/dashboard/keys?sort=name&page=200",
  "/dashboard/keys?search=key+999",
  "/dashboard/keys/new",
  "/dashboard/usage",
  "/dashboard/usage?range=7d&unit=tokens",
  "/dashboard/usage?range=30d&by=member",
  "/dashboard/usage/performance?range=30d&by=model",
  "/dashboard/usage/requests",
  "/dashboard/usage/requests?model=modelx-v4-pro",
  "/dashboard/credit",
  "/dashboard/models",
  "/dashboard/limits",
  "/dashboard/budgets",
  "/dashboard/projects",
  "/dashboard/billing",
  "/dashboard/settings/activity",
  "/dashboard/settings/activity?action=credit.granted",
  "/dashboard/admin",
  "/dashboard/admin?sort=spend",
  "/dashboard/admin?search=owner-9999",
  `/dashboard/admin/accounts/${LARGEST}`,
  "/dashboard/admin/figures",
  "/dashboard/admin/audit",
  "/dashboard/admin/audit?action=member.invited",
  "/dashboard/admin/audit?action=person.unmade_admin",
];
const EMAIL = "bench@example.com";
const COOKIE = "session";

const { values: options } = parseArgs({
  options: {
    rows: { type: "string", default: "10000000" },
    alone: { type: "boolean", default: false },
    data: { type: "string" },
  },
});

await withServer(options.data, async (connect) => {
  const database = connect("bench");
  await migrate(database);
  const [loaded] = await database.query({
    text: "SELECT max(day) AS day FROM usage_by_day",
    row: z.strictObject({ day: z.string().nullable() }),
  });
  if (loaded?.day === null) {
    await loadUsage({
      rows: Number(options.rows),
      isOfLargest: options.alone,
      days: DAYS,
      lastDay: new Date().toISOString().slice(0, 10),
      database: connect("bench load"),
      workers: 2,
      log: (line) => console.log(line),
    });
  }
  await seedLists(database);
  const app = await createApp({
    database: connect("dashboard"),
    log: createLog({ process: "bench", level: "error" }),
    pepper: randomBytes(32),
    publicBaseUrl: "http://gateway.example",
    signUp: { isOpen: true, domains: null },
    adminSecondFactor: "optional",
  });
  if ((await findPersonByEmail(database, EMAIL)) === undefined)
    await addOwner(database, { accountId: LARGEST, email: EMAIL, name: "Bench", password: "a few words together" });
  await setAdmin(database, { email: EMAIL, isAdmin: true });
  const person = await findPersonByEmail(database, EMAIL);
  const token = await startSession(database, { personId: person?.id ?? "", accountId: LARGEST, userAgent: "bench" });

  const table: Record<string, Record<string, string>> = {};
  for (const page of PAGES) table[page] = await measurePage(app, page, token);
  console.table(table);
  await app.close();
});

async function measurePage(app: FastifyInstance, url: string, token: string): Promise<Record<string, string>> {
  const load = (path: string, encoding = "identity") =>
    app.inject({ method: "GET", url: path, cookies: { [COOKIE]: token }, headers: { "accept-encoding": encoding } });
  const page = await load(url);
  if (page.statusCode !== 200) throw new Error(`${url} is answered with ${page.statusCode}: ${page.body.slice(0, 300)}`);
  const times: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const startedMs = performance.now();
    await load(url, "br");
    times.push(performance.now() - startedMs);
  }
  times.sort((a, b) => a - b);
  const assets = [
    ...new Set([...page.body.matchAll(/(?:href|src)="(\/dashboard\/assets\/[^"]+)"/g)].map(([, path]) => path ?? "")),
  ];
  const sizeOf = async (encoding: string) =>
    kilobytes((await Promise.all([url, ...assets].map((path) => load(path, encoding)))).map(({ rawPayload }) => rawPayload));
  return {
    "p50 (ms)": (times[RUNS / 2] ?? 0).toFixed(1),
    "slowest (ms)": (times.at(-1) ?? 0).toFixed(1),
    "first load (KB)": await sizeOf("identity"),
    "compressed (KB)": await sizeOf("br"),
  };
}

function kilobytes(bodies: readonly Buffer[]): string {
  return (bodies.reduce((sum, { length }) => sum + length, 0) / 1000).toFixed(1);
}
