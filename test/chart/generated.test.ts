import { readFile } from "node:fs/promises";
import path from "node:path";
import { parse } from "yaml";
import * as z from "zod";
import { expect, test } from "vitest";
import { chartOutputs, ROOT } from "../../charts/generate/outputs.ts";

const outputs = await chartOutputs();

test.for(outputs)("$file is what `npm run chart:update` writes", async ({ file, text }) => {
  expect(await readFile(path.join(ROOT, file), "utf8")).toBe(text);
});

test("every definition in crds/ is in the chart, and remains when the release is uninstalled", () => {
  const definitions = outputs.filter(({ file }) => file.includes("/templates/crds/"));
  expect(definitions.map(({ file }) => path.basename(file))).toEqual(["apikeys.yaml", "models.yaml"]);
  for (const { text } of definitions) expect(text).toContain("helm.sh/resource-policy: keep");
});

test("the chart's appVersion is the package's version", async () => {
  const read = async (file: string): Promise<unknown> => parse(await readFile(path.join(ROOT, file), "utf8"));
  const { version } = z.object({ version: z.string() }).parse(await read("package.json"));
  expect(await read("charts/model-gateway/Chart.yaml")).toMatchObject({ version, appVersion: version });
});
