import { readFile } from "node:fs/promises";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";
import { REPOSITORY, repositoryFiles } from "../../support/documents/repository-files.ts";

/** The head of each page in docs/decisions, and the index made of these heads. */
const HEAD = /^# (.+)\n\n- Status: (accepted|superseded by \d{4})\n- Date: (\d{4}-\d\d-\d\d)\n\n/;
const SECTIONS = /^## Context\n(?:.*\n)*^## Decision\n(?:.*\n)*^## Consequences\n/m;

let pages: { name: string; text: string }[];
beforeAll(async () => {
  const names = await repositoryFiles("docs/decisions/[0-9]*.md");
  pages = await Promise.all(names.map(async (name) => ({ name, text: await readFile(path.join(REPOSITORY, name), "utf8") })));
});

test("each decision has a title, a status and a date, then context, decision and consequences", () => {
  expect(pages.length).toBeGreaterThan(0);
  expect(pages.filter(({ text }) => !HEAD.test(text) || !SECTIONS.test(text)).map(({ name }) => name)).toEqual([]);
});

test("decisions are numbered without gaps", () => {
  expect(pages.map(({ name }) => Number(path.basename(name).slice(0, 4)))).toEqual(pages.map((_, index) => index + 1));
});

test("the index has the title, status and date of each page", async () => {
  const index = await readFile(path.join(REPOSITORY, "docs/decisions/README.md"), "utf8");
  const rows = pages.map(({ name, text }, position) => {
    const [, title, status, date] = HEAD.exec(text) ?? [];
    return `| ${position + 1} | [${title}](${path.basename(name)}) | ${status} | ${date} |`;
  });
  expect(index.split("\n").filter((line) => /^\| \d/.test(line))).toEqual(rows);
});
