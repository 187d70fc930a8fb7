import { parseArgs } from "node:util";
import { END_USER, LABEL_BOUNDS, tagDimension } from "../../../contract/labels.ts";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import type { Database, Queryable } from "../../../ledger/postgres/database.ts";
import {
  labelDays,
  labelHours,
  labelUsageByModelAndDay,
  listTagNames,
  usageByLabel,
  usageWithLabel,
} from "../../../ledger/usage/label-reports.ts";
import { readLabelsOf } from "../../../ledger/usage/request-labels.ts";
import { listRequests, type RequestListing } from "../../../ledger/usage/request-list.ts";
import { dayBefore, keyOf, LARGEST, loadUsage } from "../usage/load.ts";
import { measure } from "../usage/measure.ts";
import { withServer } from "../usage/server.ts";

/**
 * `npm run bench:labels`: usage by tag and end user over a month of one account with `--rows` requests (1,000,000), each with
 * three tags and an end user, of which two have more values than reports distinguish.
 */
const DAYS = 30;
const TARGET_MS = 150;

const { values: options } = parseArgs({
  options: { rows: { type: "string", default: "1000000" }, plans: { type: "boolean", default: false } },
});

/** As SQL of a request id: a number that is the same for each request. */
const DRAW = "abs(hashtext(request_id::text)::bigint)";
const VALUES = {
  [tagDimension("team")]: `'team-' || ${DRAW} % 20`,
  [tagDimension("feature")]: `'feature-' || ${DRAW} % 300`,
  [tagDimension("run")]: `'run-' || ${DRAW} % 40000`,
  [END_USER]: `'user-' || ${DRAW} % 30000`,
} as const;
const SUMS = "requests, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, charge_nano_usd";

async function labelDay(database: Database, day: string): Promise<void> {
  await database.execute("SELECT create_usage_partition($1)", [day]);
  for (const [dimension, value] of Object.entries(VALUES))
    await database.execute(
      `INSERT INTO usage_label (day, account_id, request_id, attempt, dimension, value)
       SELECT day, account_id, request_id, attempt, '${dimension}', ${value} FROM usage_event WHERE day = $1`,
      [day],
    );
  const sums = SUMS.split(", ").map((name) => (name === "requests" ? "count(*)" : `sum(${name})`));
  await database.execute(
    `WITH known AS (
       SELECT dimension, value, row_number() OVER (PARTITION BY dimension = '${END_USER}' ORDER BY dimension = 'tag:run', value) AS place
       FROM (SELECT DISTINCT dimension, value FROM usage_label WHERE day = $1) AS each
     ), shown AS (
       SELECT event.*, label.dimension, CASE WHEN place <= ${LABEL_BOUNDS.valuesADay} THEN label.value ELSE '' END AS value
       FROM usage_label AS label JOIN usage_event AS event USING (day, request_id, attempt) JOIN known USING (dimension, value) WHERE day = $1
     ), by_label AS (
       INSERT INTO usage_by_label (account_id, dimension, day, value, ${SUMS})
       SELECT account_id, dimension, day, value, ${sums.join(", ")} FROM shown GROUP BY 1, 2, 3, 4
     )
     INSERT INTO usage_by_label_and_key (account_id, dimension, value, day, key_id, model, ${SUMS})
     SELECT account_id, dimension, value, day, key_id, model, ${sums.join(", ")} FROM shown GROUP BY 1, 2, 3, 4, 5, 6`,
    [day],
  );
}

type Read = (database: Queryable, fromDay: string, toDay: string) => Promise<unknown>;

const scopeOf = (fromDay: string, toDay: string) => ({ accountId: LARGEST, fromDay, toDay });
const by =
  (dimension: string, narrow: { keyId?: string; model?: string } = {}): Read =>
  (database, fromDay, toDay) =>
    usageByLabel(database, { ...scopeOf(fromDay, toDay), dimension, limit: 50, ...narrow });
const list =
  (narrow: Partial<RequestListing>): Read =>
  async (database, fromDay, toDay) => {
    const range = { from: new Date(fromDay), to: new Date(dayBefore(toDay, -1)) };
    const { requests } = await listRequests(database, { accountId: LARGEST, ...range, limit: 50, ...narrow });
    return readLabelsOf(database, LARGEST, requests);
  };
const team = { dimension: tagDimension("team"), value: "team-7" };
const user = { dimension: END_USER, value: "user-29999" };

const REPORTS: Record<string, Read> = {
  "names of tags": (database) => listTagNames(database, LARGEST),
  "by tag team": by(tagDimension("team")),
  "by tag run": by(tagDimension("run")),
  "by end user": by(END_USER),
  "by end user, of a key": by(END_USER, { keyId: keyOf(LARGEST, 0) }),
  "by end user, of a model": by(END_USER, { model: "modelx-v4-flash" }),
  "sum of all end users": (database, fromDay, toDay) =>
    usageWithLabel(database, { ...scopeOf(fromDay, toDay), dimension: END_USER }),
  "five teams by day": (database, fromDay, toDay) =>
    labelDays(database, {
      ...scopeOf(fromDay, toDay),
      dimension: tagDimension("team"),
      shown: [1, 2, 3, 4, 5].map((number) => `team-${number}`),
    }),
  "five teams by hour of the last two days": (database, _fromDay, toDay) =>
    labelHours(database, {
      ...scopeOf(dayBefore(toDay, 1), toDay),
      dimension: tagDimension("team"),
      shown: [1, 2, 3, 4, 5].map((number) => `team-${number}`),
    }),
  "one team by model and day": (database, fromDay, toDay) =>
    labelUsageByModelAndDay(database, { ...scopeOf(fromDay, toDay), ...team }),
  "requests of a team": list({ labels: [team] }),
  "requests of a rare end user": list({ labels: [user] }),
  "requests of a team and an end user": list({ labels: [team, { ...user, value: "user-27" }] }),
  "requests of a team that failed": list({ labels: [team], outcome: "failed" }),
  "requests of a team, of the rarest model": list({ labels: [team], model: "modelx-reasoner" }),
};

await withServer(undefined, async (connect) => {
  const database = connect("bench");
  await migrate(database);
  const lastDay = new Date().toISOString().slice(0, 10);
  const log = (line: string) => console.log(line);
  await loadUsage({ rows: Number(options.rows), isOfLargest: true, days: DAYS, lastDay, database, workers: 2, log });
  for (let ago = DAYS - 1; ago >= 0; ago--) await labelDay(database, dayBefore(lastDay, ago));
  await database.execute("VACUUM (ANALYZE)");
  const table: Record<string, Record<string, string>> = {};
  for (const [name, read] of Object.entries(REPORTS)) {
    const report = { name, read: (reader: Queryable) => read(reader, dayBefore(lastDay, DAYS - 1), lastDay) };
    const { firstMs, p50Ms, p99Ms, plans } = await measure(report, () => connect("bench report"));
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
