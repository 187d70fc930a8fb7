import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { isAllowed, PERMISSIONS } from "../../../ledger/people/permissions.ts";
import { tablesBelow } from "../../support/documents/markdown-tree.ts";
import { REPOSITORY } from "../../support/documents/repository-files.ts";

test("the page of permissions matches the code's table", async () => {
  const page = await readFile(path.join(REPOSITORY, "docs/permissions.md"), "utf8");
  const [table] = tablesBelow(page, "Who may do what");
  const roles = ["viewer", "member", "owner"] as const;
  const rows = Object.entries(PERMISSIONS).map(([, { least, words }]) => {
    const from = roles.indexOf(least);
    return [words, ...roles.map((_, rank) => (rank >= from ? "yes" : "–"))];
  });
  expect(table).toEqual(rows);
  expect(roles.map((role) => isAllowed(role, "manageCard"))).toEqual([false, false, true]);
});
