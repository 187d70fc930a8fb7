import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { REPOSITORY } from "../../support/documents/repository-files.ts";

test("the changelog begins with unreleased changes, followed by the package's version", async () => {
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(await source("package.json")));
  const headings = [...(await source("CHANGELOG.md")).matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
  expect(headings[0]).toBe("[Unreleased]");
  expect(headings[1]).toContain(`[${version}] - `);
  expect(headings[1]).toMatch(/ - \d{4}-\d{2}-\d{2}$/);
});

function source(name: string): Promise<string> {
  return readFile(path.join(REPOSITORY, name), "utf8");
}
