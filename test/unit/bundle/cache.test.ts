import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { findIn, keepInUse } from "../../../bundle/cache.ts";

async function makeCache() {
  const directory = await mkdtemp(path.join(tmpdir(), "bundles-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const sources = { state: "first" };
  const write = vi.fn(async (unfinished: string) => {
    await writeFile(path.join(unfinished, "program.mjs"), sources.state);
    await writeFile(path.join(unfinished, "shared.mjs"), "shared");
  });
  return { directory, sources, write, fingerprint: () => sources.state };
}

const programIn = (bundles: string) => readFile(path.join(bundles, "program.mjs"), "utf8");

test("bundles are written once for each state of the sources", async () => {
  const cache = await makeCache();
  const first = await findIn(cache);
  expect(await findIn(cache)).toBe(first);
  cache.sources.state = "second";
  expect(await programIn(await findIn(cache))).toBe("second");
  cache.sources.state = "first";
  expect(await programIn(await findIn(cache))).toBe("first");
  expect(cache.write).toHaveBeenCalledTimes(2);
});

test("sources that change while their bundles are written do not run under the name of the earlier ones", async () => {
  const cache = await makeCache();
  const { sources, write } = cache;
  write.mockImplementationOnce(async (unfinished) => {
    sources.state = "changed";
    await writeFile(path.join(unfinished, "program.mjs"), sources.state);
  });
  expect(path.basename(await findIn(cache))).toBe("changed");
  sources.state = "first";
  expect(await programIn(await findIn(cache))).toBe("first");
  expect((await readdir(cache.directory)).sort()).toEqual(["changed", "first"]);
});

test("sources that keep changing are not waited for", async () => {
  const cache = await makeCache();
  let changes = 0;
  await expect(findIn({ ...cache, fingerprint: () => `state ${++changes}` })).rejects.toThrow("kept changing");
  expect(await readdir(cache.directory)).toEqual([]);
});

test.for<[string, (bundles: string) => Promise<void>]>([
  ["a missing file", (bundles) => rm(path.join(bundles, "shared.mjs"))],
  ["an empty file", (bundles) => truncate(path.join(bundles, "program.mjs"))],
  ["no list of files", (bundles) => rm(path.join(bundles, "files.json"))],
  ["a file that is not theirs", (bundles) => writeFile(path.join(bundles, "other.mjs"), "")],
  [
    "nothing",
    async (bundles) => {
      await rm(bundles, { recursive: true });
      await mkdir(bundles);
    },
  ],
  [
    "a file in their place",
    async (bundles) => {
      await rm(bundles, { recursive: true });
      await writeFile(bundles, "");
    },
  ],
])("bundles with %s are written again", async ([, damage]) => {
  const cache = await makeCache();
  await damage(await findIn(cache));
  const bundles = await findIn(cache);
  expect(await programIn(bundles)).toBe("first");
  expect((await readdir(bundles)).sort()).toEqual(["files.json", "program.mjs", "shared.mjs"]);
  expect(await findIn(cache)).toBe(bundles);
  expect(cache.write).toHaveBeenCalledTimes(2);
});

test("processes that start at once get the same bundles", async () => {
  const cache = await makeCache();
  const found = await Promise.all(Array.from({ length: 5 }, () => findIn(cache)));
  expect(new Set(found).size).toBe(1);
  expect(await programIn(found[0] ?? "")).toBe("first");
  expect(await readdir(cache.directory)).toEqual(["first"]);
});

test("bundles that a process uses for days are kept, and others of days ago are not", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const cache = await makeCache();
  const age = (bundles: string) => utimes(bundles, 0, 0);
  const used = await findIn(cache);
  keepInUse(used);
  for (const state of ["2", "3", "4", "5"]) {
    cache.sources.state = state;
    await age(await findIn(cache));
  }
  await age(used);
  vi.advanceTimersByTime(3_600_000);
  await expect.poll(async () => (await stat(used)).mtimeMs).toBeGreaterThan(0);
  cache.sources.state = "6";
  await findIn(cache);
  const kept = await readdir(cache.directory);
  expect(kept).toHaveLength(4);
  expect(kept).toEqual(expect.arrayContaining(["6", "first"]));
});
