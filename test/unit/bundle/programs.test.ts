import { access, readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { PROGRAMS, ROOT } from "../../../bundle/programs.ts";
import { findPrograms } from "../../support/test-run/programs.ts";

const bundles = async () => path.dirname((await findPrograms())("extproc/main.ts"));

test.for(PROGRAMS)("%s has a bundle, which loads no module of ours", async (program) => {
  const file = (await findPrograms())(program);
  const text = await readFile(file, "utf8");
  const imported = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"([^"]+)"/g)].map(([, name = ""]) => name);
  expect(imported.length).toBeGreaterThan(0);
  expect(imported.filter((name) => name.endsWith(".ts"))).toEqual([]);
});

test("modules in bundles find the files beside their sources", async () => {
  const directory = await bundles();
  const texts = await Promise.all(
    (await readdir(directory))
      .filter((name) => name.endsWith(".mjs"))
      .map((name) => readFile(path.join(directory, name), "utf8")),
  );
  const folders = texts.flatMap((text) => [...text.matchAll(/import\.meta\.dirname \+ "([^"]+)"/g)].map(([, to = ""]) => to));
  const files = texts.flatMap((text) =>
    [...text.matchAll(/new URL\("([^"]+\.ts)", import\.meta\.url\)\.href/g)].map(([, to = ""]) => to),
  );
  expect(folders.length).toBeGreaterThan(3);
  expect(files.length).toBeGreaterThan(3);
  for (const to of [...folders, ...files]) {
    const source = path.join(directory, to);
    expect(path.relative(ROOT, source)).toMatch(/^(clients|dashboard|extproc|ledger|local|operator|runtime)\b/);
    await access(source);
  }
});

test("programs ask for their own files only in ways that the bundler knows", async () => {
  const folders = ["clients", "contract", "dashboard", "extproc", "ledger", "local", "operator", "runtime"];
  const unknown: string[] = [];
  for (const folder of folders) {
    for (const name of await readdir(path.join(ROOT, folder), { recursive: true })) {
      if (!name.endsWith(".ts")) continue;
      const text = await readFile(path.join(ROOT, folder, name), "utf8");
      const asked = [...text.matchAll(/import\.meta\.(\w+)|\b(__dirname|__filename)\b/g)].map(([whole]) => whole);
      const own = folder === "extproc" && name === "main.ts" ? ["import.meta.filename"] : [];
      const known = ["import.meta.dirname", "import.meta.url", "import.meta.resolve", ...own];
      unknown.push(...asked.filter((each) => !known.includes(each)).map((each) => `${folder}/${name}: ${each}`));
    }
  }
  expect(unknown).toEqual([]);
});
