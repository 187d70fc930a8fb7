import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { chooseManifests } from "../../../local/manifests-directory.ts";

const SAMPLES = path.join(import.meta.dirname, "../../../local/manifests");

let root: string;
let manifests: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), "gateway-samples-"));
  manifests = path.join(root, "manifests");
});
afterEach(() => rm(root, { recursive: true }));

test("the first start copies the samples into the data directory, only for this user", async () => {
  expect(await chooseManifests(undefined, { manifests })).toBe(manifests);
  expect(await readdir(manifests)).toStrictEqual(await readdir(SAMPLES));
  const copy = path.join(manifests, "models.yaml");
  expect(await readFile(copy, "utf8")).toBe(await readFile(path.join(SAMPLES, "models.yaml"), "utf8"));
  expect((await stat(manifests)).mode & 0o777).toBe(0o700);
  expect((await stat(copy)).mode & 0o777).toBe(0o600);
});

test("later starts leave the folder as it was edited; once removed, it starts with the samples again", async () => {
  await chooseManifests(undefined, { manifests });
  await rm(path.join(manifests, "models.yaml"));
  await writeFile(path.join(manifests, "mine.yaml"), "");
  await chooseManifests(undefined, { manifests });
  expect(await readdir(manifests)).toStrictEqual(["mine.yaml"]);
  await rm(manifests, { recursive: true });
  await chooseManifests(undefined, { manifests });
  expect(await readdir(manifests)).toContain("models.yaml");
});

test("a half-finished copy of a killed first start is not used as a folder of manifests", async () => {
  await mkdir(`${manifests}.unfinished`);
  await writeFile(path.join(`${manifests}.unfinished`, "half.yaml"), "kind: Mo");
  await chooseManifests(undefined, { manifests });
  expect(await readdir(manifests)).toStrictEqual(await readdir(SAMPLES));
});

test("a named folder is watched in place, and must exist", async () => {
  expect(await chooseManifests(root, { manifests })).toBe(root);
  await expect(chooseManifests(path.join(root, "none"), { manifests })).rejects.toThrow(
    `There is no folder ${path.join(root, "none")}: set --manifests to the folder with your Models.`,
  );
});
