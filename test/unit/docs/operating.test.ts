import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { ACCESS_NAMES } from "../../../contract/key-access.ts";
import { LIMITS } from "../../../contract/limits.ts";
import { REPOSITORY } from "../../support/documents/repository-files.ts";

test("the query for keys that a newer version wrote leaves out each limit and list that this version knows", async () => {
  const page = await readFile(path.join(REPOSITORY, "docs/operating.md"), "utf8");
  const [, known = ""] = /FROM api_key WHERE [^;]*?ARRAY\[([^\]]*)\] <> '\{\}';/.exec(page) ?? [];
  const names = [...known.matchAll(/'(\w+)'/g)].map(([, name]) => name);
  expect(names).toEqual([...Object.keys(LIMITS), ...ACCESS_NAMES]);
});
