import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ROOT } from "../../../bundle/programs.ts";
import { writeBundlesOf } from "../../../bundle/write.ts";
import { findSources } from "../../support/test-run/programs.ts";

/** How a program imports a package's values. */
const IMPORT = /(?:^|\n)import (?!type\b)(?:[^;]*? from )?"([^"]+)"|\bimport\("([^"]+)"\)/g;

async function importedPackages(): Promise<string[]> {
  const names = new Set<string>();
  for (const file of await findSources()) {
    // The installer is a bundle of its own (test/support/clients/bundle.ts).
    if (file.startsWith("clients/install/program/")) continue;
    const text = await readFile(path.join(ROOT, file), "utf8");
    for (const [, fixed, loaded] of text.matchAll(IMPORT)) names.add(fixed ?? loaded ?? "");
  }
  const packages = [...names].filter((name) => !name.startsWith(".") && !name.startsWith("node:"));
  // Others need it.
  return packages.sort((one, other) => Number(other === "reflect-metadata") - Number(one === "reflect-metadata"));
}

/** The names that it exports, each with its type: a bundler reads CommonJS in its own way. */
function shapeOf(module: object): string[] {
  return Object.entries(module)
    .filter(([name]) => name !== "module.exports" && name !== "__esModule")
    .map(([name, value]) => `${name}: ${typeof value}`)
    .sort();
}

test("a bundle gets the same from each package as Node.js does", async () => {
  const names = await importedPackages();
  expect(names).toEqual(
    expect.arrayContaining(["@kubernetes/client-node", "fastify", "nodemailer", "openid-client", "pg", "stripe"]),
  );
  const cache = path.join(ROOT, "node_modules/.cache/model-gateway");
  await mkdir(cache, { recursive: true });
  const directory = await mkdtemp(path.join(cache, "packages-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const probe = path.join(directory, "probe.mts");
  const lines = names.map((name, at) => `import * as package${at} from ${JSON.stringify(name)};`);
  await writeFile(probe, [...lines, `export const packages = [${names.map((_, at) => `package${at}`).join(", ")}];`].join("\n"));
  await writeBundlesOf({ probe }, directory);
  const { packages }: { packages: object[] } = await import(path.join(directory, "probe.mjs"));
  expect(packages).toHaveLength(names.length);
  for (const [at, name] of names.entries()) {
    const bundled = new Set(shapeOf(packages[at] ?? {}));
    // Node.js does not see every name of CommonJS.
    expect(
      shapeOf(await import(name)).filter((each) => !bundled.has(each)),
      name,
    ).toEqual([]);
  }
});
