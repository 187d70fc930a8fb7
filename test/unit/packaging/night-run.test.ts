import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY, repositoryFiles } from "../../support/documents/repository-files.ts";

/** A long form that the night run does not know would never run. */
test("the night run has every test with a long form, and names no test that is gone", async () => {
  const read = (file: string) => readFile(path.join(REPOSITORY, file), "utf8");
  const files = (await repositoryFiles("test/**/*.test.ts")).filter((file) => !file.endsWith(".night.test.ts"));
  const config = await read("vitest.night.config.ts");
  const named = [...config.matchAll(/createProject\("(\w+)", \{[^}]*?include: \[([^\]]*)\]/g)].flatMap(
    ([, project = "", list = ""]) => [...list.matchAll(/"([\w/-]+)"/g)].map(([, name = ""]) => `test/${project}/${name}.test.ts`),
  );
  const texts = await Promise.all(files.map(async (file) => ({ file, text: await read(file) })));
  const withLongForm = texts.filter(({ text }) => /inject\("isNight"\)|\.\/looks\.ts"|chosenOfMatrix/.test(text));
  const wanted = withLongForm.map(({ file }) => file).filter((file) => !file.startsWith("test/unit/"));
  expect(wanted.filter((file) => !named.includes(file))).toEqual([]);
  expect(named.filter((file) => !files.includes(file))).toEqual([]);
  expect(wanted.length).toBeGreaterThan(5);
});
