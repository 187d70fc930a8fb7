import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { readMarkdown } from "../../support/documents/markdown-links.ts";
import { REPOSITORY, repositoryFiles } from "../../support/documents/repository-files.ts";

test.for([
  ["docs/README.md", ["docs/*.md", "docs/*.yaml", "*.md"]],
  ["docs/decisions/README.md", ["docs/decisions/*.md"]],
  ["docs/howto/README.md", ["docs/howto/*.md"]],
] as const)("%s links to every page beside it", async ([index, patterns]) => {
  const { links } = readMarkdown(await readFile(path.join(REPOSITORY, index), "utf8"));
  const linked = new Set(links.map(({ target }) => path.posix.join(path.posix.dirname(index), target.replace(/#.*$/, ""))));
  const pages = await repositoryFiles(...patterns);
  expect(pages.filter((page) => page !== index && !linked.has(page))).toEqual([]);
});
