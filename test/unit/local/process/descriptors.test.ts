import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { connectionsWithin } from "../../../../local/process/descriptors.ts";

const run = promisify(execFile);
const MODULE = new URL("../../../../local/process/descriptors.ts", import.meta.url).href;

test.for([
  [Infinity, 50_000],
  [1_048_576, 50_000],
  [20_000, 9_872],
  [1_024, 384],
  [64, 16],
] as const)("with %d file descriptors Envoy holds %d clients", ([descriptors, connections]) => {
  expect(connectionsWithin(descriptors)).toBe(connections);
});

test("the limit is that of the shell that starts the gateway", async () => {
  const print = `import { descriptorLimit } from ${JSON.stringify(MODULE)}; console.log(descriptorLimit());`;
  const { stdout } = await run("sh", [
    "-c",
    `ulimit -n 700 && exec "$0" --input-type=module --eval "$1"`,
    process.execPath,
    print,
  ]);
  expect(stdout).toBe("700\n");
});
