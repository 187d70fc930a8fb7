import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { compiledDirectory } from "../../../local/cache-directory.ts";
import { COMPILE_CACHE, forgetEarlierWeeks } from "../../support/test-run/compile-cache.ts";

test("only what this week's programs compiled is kept", async () => {
  const directory = await mkdtemp(path.join(tmpdir(), "compiled-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const thisWeek = path.basename(COMPILE_CACHE.NODE_COMPILE_CACHE);
  for (const name of [thisWeek, "week-1", "v24"]) {
    await mkdir(path.join(directory, name, "deep"), { recursive: true });
    await writeFile(path.join(directory, name, "deep", "code"), "compiled");
  }
  await forgetEarlierWeeks(directory);
  expect(await readdir(directory)).toEqual([thisWeek]);
  expect(await readdir(path.join(directory, thisWeek, "deep"))).toEqual(["code"]);
});

test("what the parts of npm start compiled is elsewhere, so no run of tests removes it", () => {
  const forgotten = path.dirname(COMPILE_CACHE.NODE_COMPILE_CACHE);
  expect(path.relative(forgotten, compiledDirectory(process.env))).toMatch(/^\.\./);
});

test("nothing to forget is no error", async () => {
  await forgetEarlierWeeks(path.join(tmpdir(), "model-gateway-has-compiled-nothing"));
});
