import { access, readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { PROGRAMS, ROOT } from "../../../bundle/programs.ts";
import { findPrograms, findSources } from "../../support/test-run/programs.ts";

const bundles = async () => path.dirname((await findPrograms())("extproc/main.ts"));

test.for(PROGRAMS)("%s has a bundle, which loads no module of ours", async (program) => {
  const file = (await findPrograms())(program);
  const text = await readFile(file, "utf8");
  const imported = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"([^"]+)"/g)].map(([, name = ""]) => name);
  expect(imported.length).toBeGreaterThan(0);
  expect(imported.filter((name) => name.endsWith(".ts"))).toEqual([]);
});

test("other users of this machine may run the bundles", async () => {
  expect((await stat(await bundles())).mode & 0o777).toBe(0o755);
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

/** What bundled packages do with their own place, and why it does not matter that they have another one. */
const HARMLESS = [
  // Of features that we do not use: channel statistics, load reports, log transports.
  "includeDirs: [`${__dirname}/../../proto`]",
  "includeDirs: [`${__dirname}/../../proto/xds`, `${__dirname}/../../proto/protoc-gen-validate`]",
  'target = bundlerOverrides["pino-worker"] || join(__dirname, "worker.js");',
  'const toExecute = ("__bundlerPathsOverrides" in globalThis ? globalThis.__bundlerPathsOverrides : {})["thread-stream-worker"] || join(__dirname, "lib", "worker.js");',
  "fixTarget = createRequire(context).resolve(origin);",
  'if (origin === "pino/file") return join(__dirname, "..", "file.js");',
  // Title and version of an API's description, for those who name none.
  'return JSON.parse(fs.readFileSync(path.join(__dirname, "..", "..", "package.json")));',
  // Asks first whether it exists.
  'const currentFilename = typeof __filename !== "undefined" ? __filename : void 0;',
];

test("bundled packages need no files of their own", async () => {
  const directory = await bundles();
  const found: string[] = [];
  for (const name of await readdir(directory)) {
    const text = await readFile(path.join(directory, name), "utf8");
    let source = "";
    for (const line of text.split("\n").map((each) => each.trim())) {
      source = /^\/\/ (\S+\.\w+)$/.exec(line)?.[1] ?? source;
      const asks = /\b__dirname\b|\b__filename\b|import\.meta\.|\bcreateRequire\(/.test(line) && !line.startsWith("*");
      if (asks && source.startsWith("node_modules/") && !HARMLESS.includes(line)) found.push(`${source}: ${line}`);
    }
  }
  expect(found).toEqual([]);
});

test("programs ask for their own files only in ways that the bundler knows", async () => {
  const unknown: string[] = [];
  for (const file of await findSources()) {
    const text = await readFile(path.join(ROOT, file), "utf8");
    const asked = [...text.matchAll(/import\.meta\.(\w+)|\b(__dirname|__filename)\b/g)].map(([whole]) => whole);
    const own = file === "extproc/main.ts" ? ["import.meta.filename"] : [];
    const known = ["import.meta.dirname", "import.meta.url", "import.meta.resolve", ...own];
    unknown.push(...asked.filter((each) => !known.includes(each)).map((each) => `${file}: ${each}`));
  }
  expect(unknown).toEqual([]);
});
