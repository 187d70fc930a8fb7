import { readFile } from "node:fs/promises";
import path from "node:path";
import { visit } from "unist-util-visit";
import { expect, test } from "vitest";
import { parseMarkdown } from "../../support/documents/markdown-tree.ts";
import { REPOSITORY, repositoryFiles } from "../../support/documents/repository-files.ts";

/** Those of local.env, which readers source, and those that the management API's page introduces. */
const VARIABLES = ["GATEWAY_API_KEY", "GATEWAY_BASE_URL", "KEY_ID", "PROJECT_ID", "TOKEN"];
/** Followed from its first command to its last, it has names of its own. */
const FOLLOWED = "docs/kubernetes.md";

test("commands on all pages have the same variables", async () => {
  const pages = ["README.md", ...(await repositoryFiles("docs/*.md"))].filter((name) => name !== FOLLOWED);
  const used = await Promise.all(
    pages.map(async (name) => variablesOf(await readFile(path.join(REPOSITORY, name), "utf8")).map((each) => `${name}: ${each}`)),
  );
  expect(used.flat().filter((each) => each.endsWith(": GATEWAY_BASE_URL")).length).toBeGreaterThan(5);
  expect(used.flat().filter((each) => !VARIABLES.includes(each.replace(/^.*: /, "")))).toEqual([]);
  const introduction = await readFile(path.join(REPOSITORY, "docs/management-api.md"), "utf8");
  for (const name of VARIABLES.filter((each) => each !== "GATEWAY_API_KEY")) expect(introduction).toContain(`\`$${name}\``);
});

function variablesOf(page: string): string[] {
  const names = new Set<string>();
  visit(parseMarkdown(page), "code", ({ lang, value }) => {
    if (lang !== "sh") return;
    for (const [, name = ""] of value.matchAll(/\$\{?([A-Z][A-Z_]*)/g)) names.add(name);
  });
  return [...names];
}
