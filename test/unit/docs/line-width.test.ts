import { readFile } from "node:fs/promises";
import path from "node:path";
import { visit } from "unist-util-visit";
import { expect, test } from "vitest";
import { parseMarkdown } from "../../support/documents/markdown-tree.ts";
import { REPOSITORY, repositoryFiles } from "../../support/documents/repository-files.ts";

const MAX_COLUMNS = 100;

/** Pages that a program writes, at least in part. */
const EXEMPT = [/^docs\/clients\//, /^docs\/translation\.md$/];

test("prose in Markdown is wrapped at 100 columns", async () => {
  const names = (await repositoryFiles("*.md", "docs/**/*.md")).filter((name) => !EXEMPT.some((pattern) => pattern.test(name)));
  expect(names).toContain("README.md");
  const pages = await Promise.all(
    names.map(async (name) => ({ name, text: await readFile(path.join(REPOSITORY, name), "utf8") })),
  );
  expect(pages.flatMap(({ name, text }) => longLines(text).map((line) => `${name}:${line}`))).toEqual([]);
});

test("long lines are found in paragraphs and lists, but not in tables, code, headings and links without a space", () => {
  const long = "word ".repeat(21).trim();
  const unbroken = `[x](${"y".repeat(MAX_COLUMNS)})`;
  const page = [
    long,
    "",
    `- ${long}`,
    "",
    "| a |",
    "|---|",
    `| ${long} |`,
    "",
    "```",
    long,
    "```",
    "",
    `# ${long}`,
    "",
    unbroken,
  ];
  expect(longLines(page.join("\n"))).toEqual([1, 3]);
});

/** Numbers of the lines of paragraphs that are too wide and have a space to break at. */
function longLines(text: string): number[] {
  const lines = text.split("\n");
  const found: number[] = [];
  if (!lines.some((line) => line.length > MAX_COLUMNS && !/^[|#]/.test(line))) return found; // Parsing a page takes a while.
  visit(parseMarkdown(text), "paragraph", ({ position }) => {
    if (position === undefined) return;
    for (let line = position.start.line; line <= position.end.line; line += 1) {
      const content = lines[line - 1] ?? "";
      if (
        content.length > MAX_COLUMNS &&
        content
          .trim()
          .replace(/^([-*]|\d+\.) /, "")
          .includes(" ")
      )
        found.push(line);
    }
  });
  return found;
}
