import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readPepper } from "../../../local/demo.ts";

test("the secret that keys are hashed with is created once; an emptied or truncated file ends the start with the remedy", async () => {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-pepper-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = path.join(directory, "pepper");
  const pepper = await readPepper(file);
  expect(await readPepper(file)).toStrictEqual(pepper);
  for (const left of ["", pepper.toString("base64").slice(0, 20)]) {
    await writeFile(file, left);
    await expect(readPepper(file)).rejects.toThrow(
      `The secret that keys are hashed with is missing from ${file}: restore that file from a backup, or remove it`,
    );
  }
});
