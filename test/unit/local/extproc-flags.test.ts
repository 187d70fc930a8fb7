import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../../charts/generate/outputs.ts";
import { EXTPROC_FLAGS } from "../../../local/parts.ts";

test.for([
  { file: "compose.yaml", separator: ", " },
  { file: "Dockerfile", separator: " " },
  { file: "charts/model-gateway/templates/gateway/statefulset.yaml", separator: ", " },
])("$file starts extproc with the same flags", async ({ file, separator }) => {
  expect(await readFile(path.join(ROOT, file), "utf8")).toContain(EXTPROC_FLAGS.join(separator));
});
