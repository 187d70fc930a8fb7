import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";

test("docs/account-bounds.md has each bound of an account with its number, and no other", async () => {
  const page = await readFile(new URL("../../../docs/account-bounds.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, name = "", most]) => [name, Number(most)] as const);
  expect(Object.fromEntries(rows)).toEqual(ACCOUNT_BOUNDS);
});
