import { readFile } from "node:fs/promises";
import path from "node:path";
import { toString } from "mdast-util-to-string";
import { visit } from "unist-util-visit";
import { beforeAll, expect, test } from "vitest";
import { parseMarkdown } from "../../support/documents/markdown-tree.ts";
import { REPOSITORY, repositoryFiles } from "../../support/documents/repository-files.ts";

/** docs/promises.md against what code, tests and docs cite. */
interface Promised {
  number: string;
  state: string;
  /** Files that the row names, relative to the repository. */
  tests: string[];
}

const PAGE = "docs/promises.md";
let promises: Promised[];
beforeAll(async () => {
  promises = readPromises(await source(PAGE));
});

test("each number is on the page once, from S1 on, without a gap", () => {
  const numbers = promises.map(({ number }) => Number(number.slice(1))).toSorted((a, b) => a - b);
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  expect(numbers.length).toBeGreaterThan(0);
});

test("each promise is kept, partly kept or planned", () => {
  expect(promises.filter(({ state }) => !/^(kept$|partly: |planned(: |$))/.test(state))).toEqual([]);
});

test("every number that code, tests or docs cite is on the page", async () => {
  const files = await repositoryFiles("**/*.{ts,md,json,yaml}");
  const cited = await Promise.all(files.map(async (file) => citations(await source(file)).map((number) => ({ file, number }))));
  const known = new Set(promises.map(({ number }) => number));
  expect(cited.flat().filter(({ number }) => !known.has(number))).toEqual([]);
  expect(cited.flat().length).toBeGreaterThan(known.size);
});

test("every promise that is kept, even partly, names tests that cite it", async () => {
  const wanting = await Promise.all(
    promises.map(async ({ number, state, tests }) => {
      if (state.startsWith("planned")) return [];
      const texts = await Promise.all(tests.map(async (name) => ({ name, numbers: citations(await source(name)) })));
      const silent = texts
        .filter(({ numbers }) => !numbers.includes(number))
        .map(({ name }) => `${number} is not cited in ${name}`);
      return tests.length === 0 ? [`${number} names no test`] : silent;
    }),
  );
  expect(wanting.flat()).toEqual([]);
});

test("every promise that is kept, even partly, has a test that `npm test` runs", () => {
  const nocturnal = promises.filter(
    ({ state, tests }) => !state.startsWith("planned") && tests.every((name) => name.endsWith(".night.test.ts")),
  );
  expect(nocturnal).toEqual([]);
});

test("code and docs cite only documents in the repository", async () => {
  const files = await repositoryFiles("**/*.{ts,md,json,yaml}");
  const cited = await Promise.all(
    files.map(async (file) =>
      [...(await source(file)).matchAll(/\((?:DESIGN|SPEC|STYLE)\b[^)]*\)|research [§]/g)].map(([words]) => `${file}: ${words}`),
    ),
  );
  expect(cited.flat()).toEqual([]);
});

test("citations are read singly, in lists and as ranges", () => {
  expect(citations("refused (S17, S22)")).toEqual(["S17", "S22"]);
  expect(citations("seen by all (S7–S9)")).toEqual(["S7", "S8", "S9"]);
  expect(citations("the S3 API, AS17, S17x")).toEqual([]);
});

function readPromises(text: string): Promised[] {
  const rows: Promised[] = [];
  visit(parseMarkdown(text), "tableRow", (row) => {
    const [number = "", , state = ""] = row.children.map((cell) => toString(cell, { includeHtml: false }));
    if (!/^S\d+$/.test(number)) return;
    const tests: string[] = [];
    visit(row.children[3] ?? row, "link", ({ url }) => {
      tests.push(path.posix.join(path.posix.dirname(PAGE), url));
    });
    rows.push({ number, state, tests });
  });
  return rows;
}

/** S17 and S17–S22; Amazon's S3 is none. */
function citations(text: string): string[] {
  return [...text.matchAll(/\bS(\d{1,2})(?:[–-]S(\d{1,2}))?\b(?! API)/g)].flatMap(([, first = "", last = first]) =>
    Array.from({ length: Math.max(1, Number(last) - Number(first) + 1) }, (_, index) => `S${Number(first) + index}`),
  );
}

function source(name: string): Promise<string> {
  return readFile(path.join(REPOSITORY, name), "utf8");
}
