import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../../support/documents/repository-files.ts";

/** A module of the repository, and all that it imports. */
async function closureOf(file: string, found = new Set<string>()): Promise<Set<string>> {
  if (found.has(file)) return found;
  found.add(file);
  const text = await readFile(path.join(REPOSITORY, file), "utf8");
  for (const [, name = ""] of text.matchAll(/^(?:import|export) .*from "(\.[^"]+)";$/gm))
    await closureOf(path.join(path.dirname(file), name), found);
  return found;
}

test("the local image fetches Envoy with modules that it has by then", async () => {
  const dockerfile = await readFile(path.join(REPOSITORY, "Dockerfile"), "utf8");
  const stage = dockerfile.split(/^FROM /m).find((each) => /^\S+ AS local\n/.test(each)) ?? "";
  const [before = "", rest] = stage.split("\nRUN node --eval");
  expect(rest).toContain("import('/app/local/envoy.ts')");
  const copied = [...before.matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, sources = ""]) => sources.split(" "));
  const needed = [...(await closureOf("local/envoy.ts"))];
  expect(needed.length).toBeGreaterThan(3);
  expect(needed.filter((file) => !copied.some((name) => file === name || file.startsWith(`${name}/`)))).toEqual([]);
});
