import { access, readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { readMarkdown, type MarkdownPage } from "../../support/documents/markdown-links.ts";
import { REPOSITORY, repositoryFiles } from "../../support/documents/repository-files.ts";

// Half a megabyte of Markdown is parsed: seconds on a busy machine.
test("every relative link in a Markdown file leads to a file, and every anchor to a heading", { timeout: 60_000 }, async () => {
  const names = await repositoryFiles("**/*.md");
  expect(names).toContain("README.md");
  const pages = new Map(
    await Promise.all(
      names.map(async (name) => [name, readMarkdown(await readFile(path.join(REPOSITORY, name), "utf8"))] as const),
    ),
  );
  const broken = await Promise.all(
    [...pages].flatMap(([name, { links }]) =>
      links.map(async ({ target, label, line }) => {
        const reason = namesAnotherFile(label, target) ? `the label is ${label}` : await check(pages, name, target);
        return reason === null ? [] : [`${name}:${line}: ${target}: ${reason}`];
      }),
    ),
  );
  expect(broken.flat()).toEqual([]);
});

test("a label that is the name of another file is found", () => {
  expect(namesAnotherFile("old-name.test.ts", "../test/new-name.test.ts")).toBe(true);
  expect(namesAnotherFile("new-name.test.ts", "../test/new-name.test.ts")).toBe(false);
  expect(namesAnotherFile("docs/api.md", "api.md#errors")).toBe(false);
  expect(namesAnotherFile("decision 9", "0009-reports-read-rollups.md")).toBe(false);
});

test("a link to a missing file and one to a missing heading are found", () => {
  const page = readMarkdown('# One thing\n\n[a](gone.md) ![b](#one-thing)\n\n<a id="two"></a> <img src="gone.png">\n');
  expect(page.links.map(({ target, line }) => `${line}: ${target}`)).toEqual(["3: gone.md", "3: #one-thing", "5: gone.png"]);
  expect([...page.anchors]).toEqual(["one-thing", "two"]);
});

/** A renamed file is found by its link's target, and its old name stays in the label. */
function namesAnotherFile(label: string, target: string): boolean {
  return /^\S+\.(?:cjs|js|md|sql|ts|yaml)$/.test(label) && path.basename(label) !== path.basename(target.replace(/#.*$/, ""));
}

/** @returns null for a link that leads somewhere, and for one to another site: what is there, this machine cannot know. */
async function check(pages: ReadonlyMap<string, MarkdownPage>, page: string, target: string): Promise<string | null> {
  if (URL.canParse(target)) return null;
  const [file = "", anchor] = target.split("#");
  const linked = file === "" ? page : path.join(path.dirname(page), decodeURIComponent(file));
  if (linked.startsWith("..")) return "leads out of the repository";
  const isThere = await access(path.join(REPOSITORY, linked)).then(
    () => true,
    () => false,
  );
  if (!isThere) return "no such file";
  if (anchor === undefined || !linked.endsWith(".md")) return null;
  return pages.get(linked)?.anchors.has(decodeURIComponent(anchor)) === true ? null : "no such heading";
}
