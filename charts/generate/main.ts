import { writeFile } from "node:fs/promises";
import path from "node:path";
import { chartOutputs, ROOT } from "./outputs.ts";

for (const { file, text } of await chartOutputs()) {
  await writeFile(path.join(ROOT, file), text);
  console.log(file);
}
