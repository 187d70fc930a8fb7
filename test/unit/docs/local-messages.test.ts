import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { tablesBelow } from "../../support/documents/markdown-tree.ts";
import { REPOSITORY, repositoryFiles } from "../../support/documents/repository-files.ts";

test("the messages of docs/local.md are those that npm start prints", async () => {
  const page = await readFile(path.join(REPOSITORY, "docs/local.md"), "utf8");
  const [table = []] = tablesBelow(page, "Troubleshooting");
  const messages = table.map(([message = ""]) => message);
  expect(messages.length).toBeGreaterThan(20);
  const patterns = await printedPatterns();
  expect(messages.filter((message) => !patterns.some((pattern) => pattern.test(message)))).toEqual([]);
});

/** What each sufficiently long text of the sources can become: anything may stand for an expression in it. */
async function printedPatterns(): Promise<RegExp[]> {
  const names = await repositoryFiles("local/**/*.ts", "operator/**/*.ts", "*.cjs");
  const sources = await Promise.all(names.map(async (name) => readFile(path.join(REPOSITORY, name), "utf8")));
  return sources
    .flatMap((source) => [...source.matchAll(/`((?:[^`\\\n]|\\.)*)`|"((?:[^"\\\n]|\\.)*)"/g)])
    .map(([, template, text = ""]) => (template ?? text).split(/\$\{(?:[^{}]|\{[^{}]*\})*\}/))
    .filter((parts) => parts.join("").length > 25)
    .map((parts) => new RegExp(`^(?:error: |Note: )?${parts.map(literally).join(".*")}$`));
}

function literally(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
}
