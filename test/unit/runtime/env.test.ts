import { execFile } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import * as z from "zod";
import { deprecatedInUse, portVariable, readEnv } from "../../../runtime/env.ts";
import { ROOT } from "../../../charts/generate/outputs.ts";

const SHAPE = { MAX_ROWS: z.coerce.number().int().default(10), PORT: z.coerce.number().int().optional() };
const DEPRECATED = { MAX_ROWS: "ROW_LIMIT" };
const read = (environment: Record<string, string>) => readEnv(SHAPE, environment, DEPRECATED).MAX_ROWS;

test("a deprecated name of a variable is read if the present one is unset", () => {
  expect([read({}), read({ ROW_LIMIT: "5" }), read({ MAX_ROWS: "7" }), read({ ROW_LIMIT: "5", MAX_ROWS: "7" })]).toEqual([
    10, 5, 7, 7,
  ]);
});

test("an error names the variable that was set, and not its value", () => {
  expect(() => read({ ROW_LIMIT: "secret", PORT: "none" })).toThrow(/^Invalid environment: ROW_LIMIT: [^;]+; PORT: [^;]+\.$/);
  expect(() => read({ MAX_ROWS: "secret" })).toThrow(/^Invalid environment: MAX_ROWS: (?!.*secret)/);
});

test("deprecated names in effect are listed for the log", () => {
  expect(deprecatedInUse({ ROW_LIMIT: "5" }, DEPRECATED)).toEqual([{ name: "MAX_ROWS", deprecatedName: "ROW_LIMIT" }]);
  expect(deprecatedInUse({ ROW_LIMIT: "5", MAX_ROWS: "7" }, DEPRECATED)).toEqual([]);
  expect(deprecatedInUse({}, DEPRECATED)).toEqual([]);
});

test.for([
  { value: undefined, says: " is required" },
  { value: "", says: ": must be at least 1" },
  { value: "zzz", says: ": must be a number" },
  { value: "1.5", says: ": must be a whole number" },
  { value: "0", says: ": must be at least 1" },
  { value: "70000", says: ": must be at most 65535" },
])("an error says what a port must be: $value", ({ value, says }) => {
  const environment = value === undefined ? {} : { PORT: value };
  expect(() => readEnv({ PORT: portVariable }, environment)).toThrow(`Invalid environment: PORT${says}.`);
});

test("an error says what a text, a choice and an address must be", () => {
  const shape = { NAME: z.string().min(1), LEVEL: z.enum(["info", "warn"]), URL: z.url(), KEY: z.base64("must be base64") };
  expect(() => readEnv(shape, { NAME: "", LEVEL: "loud", URL: "here", KEY: "?" })).toThrow(
    "Invalid environment: NAME: must not be empty; LEVEL: must be one of: info, warn; URL: must be a URL; KEY: must be base64.",
  );
});

test("a program with a wrong environment ends with the sentence alone", async () => {
  const main = path.join(ROOT, "ledger/check-command/main.ts");
  const { promise, resolve } = Promise.withResolvers<{ code: unknown; output: string }>();
  execFile(process.execPath, [main], { env: {}, timeout: 50_000 }, (error, stdout, stderr) =>
    resolve({ code: error?.code, output: stdout + stderr }),
  );
  expect(await promise).toEqual({ code: 1, output: "Invalid environment: DATABASE_URL is required.\n" });
});
