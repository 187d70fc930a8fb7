import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";

const MIGRATIONS = path.join(import.meta.dirname, "../../../ledger/migrations");
/** As `sha256sum *.sql` prints them in that folder. Each release adds its migrations; no line ever changes. */
const CHECKSUMS = path.join(import.meta.dirname, "migrations.sha256");

test("no migration of a release has changed, not even in a comment: databases that applied it could not be upgraded", async () => {
  const frozen = (await readFile(CHECKSUMS, "utf8")).trimEnd().split("\n");
  const names = (await readdir(MIGRATIONS)).filter((name) => name.endsWith(".sql")).sort();
  const lines = names.slice(0, frozen.length).map(async (name) => {
    const checksum = createHash("sha256").update(await readFile(path.join(MIGRATIONS, name)));
    return `${checksum.digest("hex")}  ${name}`;
  });
  expect(await Promise.all(lines)).toStrictEqual(frozen);
});
