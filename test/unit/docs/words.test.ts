import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY, repositoryFiles } from "../../support/documents/repository-files.ts";

/** Phrases that slipped into pages more than once, and the words to write instead (docs/decisions/0059). */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\be-mail/i, "email"],
  [/\bfor\s+ever\b/i, "forever"],
  [/\banew\b/i, "again"],
  [/\bWhoever\b/, "anyone who"],
  [/\bany\s+more\b(?! \w)/i, "no longer"],
  [/\bis\s+told\b/i, "is notified, or reported"],
  [/\btells\s+of\b/i, "reports"],
  [/\bthat\s+is\s+none\b/i, "invalid"],
  [/\bgo(es)?\s+on\b/i, "continue"],
  [/\bfor\s+want\s+of\b/i, "for lack of"],
  [/\bwhat\s+people\s+say\b/i, "conversations"],
  [/\bbegins?\s+again\b/i, "starts again"],
  [/\b(?:when|where)\s+(?:empty|absent|none\s+is|there\s+is\s+none)\b/i, "if empty"],
  [/\bstands?\s+(?:behind|beside)\b/i, "follows, or is next to"],
  [/\bmend(s|ed|ing)?\b/i, "fix"],
  [/\bwhatever\s+(?:its|their)\s+case\b/i, "ignoring case"],
  [/\b(?:minutes?|seconds?|hours?)\s+of\s+sound\b/i, "of audio"],
  [/\bin\s+good\s+order\b/i, "cleanly"],
  [/\bbeside\s+tokens\b/i, "besides tokens"],
  [/\b(?:un)?(?:authori|normali|organi|recogni|seriali)s(?:e[ds]?|ing|ations?)\b/i, "the American spelling"],
  [/\b(?:behavi|col|fav|hon|neighb)our(?:s|ed|ing|able)?\b|\b(?:defence|grey|licences?)\b/i, "the American spelling"],
  [/\b(the|a|an|of|to|in|is|are|and|or|for|with|it|this|be|by|on|at|as|from|not|if)\s+\1\b/i, "the word once"],
];

/** Pages that a program writes from the code. */
const GENERATED = /^docs\/translation\.md$/;

test("pages, and descriptions of the chart's values, use the field's words", async () => {
  const names = await repositoryFiles("*.md", "docs/**/*.md", "charts/**/*.md", "charts/model-gateway/values.schema.json");
  expect(names).toContain("README.md");
  const pages = await Promise.all(
    names
      .filter((name) => !GENERATED.test(name))
      .map(async (name) => ({ name, text: await readFile(path.join(REPOSITORY, name), "utf8") })),
  );
  expect(pages.flatMap(({ name, text }) => wrongWords(text).map((found) => `${name}:${found}`))).toEqual([]);
});

test("a phrase is found across a line's end, and not in code", () => {
  expect(wrongWords("It is\ntold by `e-mail`.\n\n```sh\ne-mail\n```\n\nThe the end.")).toEqual([
    "1: is told; write: is notified, or reported",
    "8: The the; write: the word once",
  ]);
});

function wrongWords(page: string): string[] {
  // Line feeds stay, so that places stay.
  const prose = page
    .replaceAll(/^( *)(```+).*?^\1\2$/gms, (code) => code.replaceAll(/[^\n]/g, ""))
    .replaceAll(/`[^`]*`/g, (code) => code.replaceAll(/[^\n]/g, "`"));
  return PHRASES.flatMap(([phrase, better]) =>
    [...prose.matchAll(new RegExp(phrase, `${phrase.flags}g`))].map(
      ({ 0: found, index }) => `${prose.slice(0, index).split("\n").length}: ${found.replaceAll(/\s+/g, " ")}; write: ${better}`,
    ),
  );
}
