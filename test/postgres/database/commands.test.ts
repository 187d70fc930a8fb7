import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { runAccountCommand } from "../../../ledger/account-command/command.ts";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { readAccountLimits } from "../../../ledger/leases/account-limits.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { COMPILE_CACHE } from "../../support/test-run/compile-cache.ts";
import { seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const failureSchema = z.object({ code: z.int(), stdout: z.string(), stderr: z.string() });

/** A program of ledger/, as an administrator runs it in a pod. */
async function run(
  command: string,
  databaseUrl: string,
  words: readonly string[] = [],
  more: Record<string, string> = {},
): Promise<string> {
  const main = path.join(import.meta.dirname, `../../../ledger/${command}-command/main.ts`);
  const environment = { ...COMPILE_CACHE, PATH: process.env["PATH"], DATABASE_URL: databaseUrl, ...more };
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...words], { env: environment, timeout: 60_000 });
  return stdout;
}

/** Exit code and output of a run that fails. */
async function failureOf(
  command: string,
  databaseUrl: string,
  words: readonly string[] = [],
): Promise<{ code: number; output: string }> {
  const error: unknown = await run(command, databaseUrl, words).catch((reason: unknown) => reason);
  return failureSchema.transform(({ code, stdout, stderr }) => ({ code, output: stdout + stderr })).parse(error);
}

test.for([
  ["account", ["team-a"]],
  ["admin", ["grant", "ada@example.com"]],
  ["check", []],
] as const)(
  "the %s command reports in one sentence that the database is unreachable or has no schema",
  async ([command, words]) => {
    const { url } = await postgres.empty();
    expect(await failureOf(command, url, words)).toEqual({
      code: 1,
      output: expect.stringMatching(/^The migration has not run yet: relation "\w+" does not exist\.\n$/),
    });
    const nowhere = new URL(url);
    nowhere.port = "1";
    expect(await failureOf(command, nowhere.toString(), words)).toEqual({
      code: 1,
      output: expect.stringMatching(/^Postgres cannot be reached: .*ECONNREFUSED.*\.\n$/),
    });
  },
);

test.for(["account", "admin", "check", "migrate"])("the %s command shows its help without a database", async (command) => {
  const main = path.join(import.meta.dirname, `../../../ledger/${command}-command/main.ts`);
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, "--help"], {
    env: COMPILE_CACHE,
    timeout: 60_000,
  });
  expect(stdout).toMatch(new RegExp(`^Usage: ledger/${command}-command `));
  expect(stderr).toBe("");
});

describe("ledger/migrate-command", () => {
  test("creates the schema in an empty database, and has nothing to do the second time", async () => {
    const { url, database } = await postgres.empty();
    expect(await run("migrate", url)).toMatch(/^applied 0001-changes\.sql\n[^]*The schema is up to date; \d+ applied\.\n$/);
    expect(await run("migrate", url)).toBe("The schema is up to date.\n");
    await runAccountCommand(["team-a"], { connect: () => database, print: () => undefined });
    expect(await run("check", url)).toBe("The ledger adds up.\n");
  });

  test("connects to Postgres as the chart's database.tls.mode says, if the address says nothing", async () => {
    const { url } = await postgres.empty();
    for (const mode of ["verify-full", "no-verify"])
      await expect(run("migrate", url, [], { PGSSLMODE: mode })).rejects.toThrow("The server does not support SSL connections");
    expect(await run("migrate", url, [], { PGSSLMODE: "disable" })).toContain("The schema is up to date");
  });

  test("fails with one sentence and without the password; code 2 means that a retry cannot help", async () => {
    const { url } = await postgres.empty();
    const address = (change: (url: URL) => void) => {
      const changed = new URL(url);
      change(changed);
      return changed.toString();
    };
    const wrongPassword = await failureOf(
      "migrate",
      address((each) => void (each.password = "not-the-password")),
    );
    expect(wrongPassword).toEqual({
      code: 2,
      output: expect.stringMatching(
        /^The migration failed\. Postgres does not accept the password in DATABASE_URL \([^\n]+\)\.\n$/,
      ),
    });
    expect(wrongPassword.output).not.toContain("not-the-password");
    expect(
      await failureOf(
        "migrate",
        address((each) => void (each.pathname = "/nowhere")),
      ),
    ).toEqual({
      code: 2,
      output: 'The migration failed. The database that DATABASE_URL names does not exist (database "nowhere" does not exist).\n',
    });
    expect(await failureOf("migrate", "postgresql://app:secret-word@127.0.0.1:1/app")).toEqual({
      code: 1,
      output: "The migration failed. Postgres cannot be reached: connect ECONNREFUSED 127.0.0.1:1.\n",
    });
  });

  test("may run any number of times concurrently", async () => {
    const { url } = await postgres.empty();
    const outputs = await Promise.all([1, 2, 3].map(() => run("migrate", url)));
    const applied = outputs.flatMap((output) => [...output.matchAll(/^applied (\S+)$/gm)].map(([, name]) => name));
    expect(new Set(applied).size).toBe(applied.length);
    expect(applied).toContain("0001-changes.sql");
  });
});

describe("ledger/account-command", () => {
  async function account(database: Database, words: readonly string[]): Promise<string[]> {
    const lines: string[] = [];
    await runAccountCommand(words, { connect: () => database, print: (line) => lines.push(line) });
    return lines;
  }

  test("refunds a request's charge to the account that paid, once per reference", async () => {
    const { database } = await postgres.migrated();
    const customer = await seedLedger(database);
    const settlement = settlementOf(customer);
    await settle(database, [settlement]);
    const { postedNanoUsd: before } = await readBalance(database, customer.accountId);
    const words = [customer.accountId, "--refund-request", settlement.requestId, "--reference", "ticket 4"];
    expect(await account(database, words)).toContain("Refunded.");
    expect(await account(database, words)).toContain("This reference was already refunded: nothing was posted.");
    const { postedNanoUsd: after } = await readBalance(database, customer.accountId);
    expect(after - before).toBe(settlement.chargeNanoUsd);
    await expect(account(database, ["stranger", ...words.slice(1)])).rejects.toMatchObject({ code: "not_found" });
  });

  test("creates an account with credit; the same command again changes nothing", async () => {
    const { url, database } = await postgres.migrated();
    const words = ["team-a", "--name", "Team A", "--grant-usd", "20.5", "--reference", "first"];
    expect(await run("account", url, words)).toBe(
      "Account team-a created.\nGranted 20.500000000 USD.\nBalance: 20.500000000 USD.\n",
    );
    expect(await account(database, words)).toEqual([
      "Account team-a already exists.",
      "This reference was already granted: nothing was posted.",
      "Balance: 20.500000000 USD.",
    ]);
    expect((await readBalance(database, "team-a")).postedNanoUsd).toBe(20_500_000_000n);
  });

  test("limits an account, changes only the named limits, and rejects unknown ones", async () => {
    const { database } = await postgres.migrated();
    const limited = await account(database, ["team-a", "--limit", "requestsPerMinute=60", "--limit", "spendPerDayUsd=5.00"]);
    expect(limited).toContain("Limit, Requests per minute: 60.");
    await account(database, ["team-a", "--limit", "requestsPerMinute=none", "--limit", "concurrentRequests=3"]);
    const limits = await readAccountLimits(database, "team-a");
    expect(limits?.operator).toEqual({ spendPerDayUsd: "5.00", concurrentRequests: 3 });
    for (const wrong of ["requestsPerHour=5", "requestsPerMinute=-1", "spendPerDayUsd=much", "requestsPerMinute"])
      await expect(account(database, ["team-a", "--limit", wrong])).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("rejects an invalid id and an invalid grant", async () => {
    const { url, database } = await postgres.migrated();
    await expect(run("account", url, ["Team A"])).rejects.toThrow(/^Command failed: [^\n]*\nAn account id has 1 to 63 [^\n]*\n$/);
    await expect(account(database, ["Team A"])).rejects.toThrow("An account id has 1 to 63 lower-case letters");
    await expect(account(database, ["team-b", "--grant-usd", "0", "--reference", "r"])).rejects.toThrow(/amount/i);
    await expect(account(database, ["team-b", "--grant-usd", "1e3", "--reference", "r"])).rejects.toThrow(/amount/i);
    expect((await readBalance(database, "team-b")).postedNanoUsd).toBe(0n);
  });

  test("reports that a grant needs a reference, so that a repeated grant differs from a second one", async () => {
    const { url } = await postgres.migrated();
    await expect(run("account", url, ["team-c", "--grant-usd", "5"])).rejects.toThrow(
      "--grant-usd and --reference require each other.",
    );
  });
});
