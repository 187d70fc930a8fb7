import { access, readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { readMarkdown } from "../../support/markdown-links.ts";
import { REPOSITORY, repositoryFiles } from "../../support/repository-files.ts";

test("every relative link in a Markdown file leads to a file, and every anchor to a heading", async () => {
  const pages = await repositoryFiles("**/*.md");
  expect(pages).toContain("README.md");
  const broken = await Promise.all(pages.map(brokenLinks));
  expect(broken.flat()).toEqual([]);
});

test("a link to a missing file and one to a missing heading are found", () => {
  const page = readMarkdown('# One thing\n\n[a](gone.md) ![b](#one-thing)\n\n<a id="two"></a> <img src="gone.png">\n');
  expect(page.links.map(({ target, line }) => `${line}: ${target}`)).toEqual(["3: gone.md", "3: #one-thing", "5: gone.png"]);
  expect([...page.anchors]).toEqual(["one-thing", "two"]);
});

async function brokenLinks(page: string): Promise<string[]> {
  const { links } = readMarkdown(await read(page));
  const reasons = await Promise.all(links.map(async ({ target, line }) => ({ target, line, reason: await check(page, target) })));
  return reasons.flatMap(({ target, line, reason }) => (reason === null ? [] : [`${page}:${line}: ${target}: ${reason}`]));
}

/** @returns null for a link that leads somewhere, and for one to another site: what is there, this machine cannot know. */
async function check(page: string, target: string): Promise<string | null> {
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
  return readMarkdown(await read(linked)).anchors.has(decodeURIComponent(anchor)) ? null : "no such heading";
}

function read(page: string): Promise<string> {
  return readFile(path.join(REPOSITORY, page), "utf8");
}
