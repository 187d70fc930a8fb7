import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { Command } from "commander";
import * as z from "zod";
import { stamp } from "./stamp.ts";

/** Run by .ci/release on its copy of the chart. */
const text = z.string().min(1).optional();
const optionsSchema = z.object({ registry: text, digest: text, source: text });
const command = new Command()
  .argument("<chart>", "folder of the chart; its files are changed")
  .option("--registry <address>", "where the image will be")
  .option("--digest <digest>", "of the image")
  .option("--source <url>", "of the repository")
  .parse();
const [directory = ""] = command.args;
const { registry, digest, source } = optionsSchema.parse(command.opts());

const read = (file: string) => readFile(path.join(directory, file), "utf8");
const schema: unknown = JSON.parse(await read("values.schema.json"));
const files = stamp(
  { "Chart.yaml": await read("Chart.yaml"), "values.yaml": await read("values.yaml"), "README.md": await read("README.md") },
  schema,
  { registry, digest, source },
);
for (const [file, content] of Object.entries(files)) await writeFile(path.join(directory, file), content);
