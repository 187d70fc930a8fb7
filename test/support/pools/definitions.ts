import { execFile } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as z from "zod";
import { MissingPrerequisite } from "../test-run/prerequisite.ts";
import { findGo } from "../go-tools/go.ts";

const run = promisify(execFile);
const MODULE = fileURLToPath(new URL("../../pool-tools", import.meta.url));
const downloadSchema = z.object({ Dir: z.string() });

/**
 * Folder of the definitions of InferencePools and the kinds beside them in the extension's Go module, which is downloaded once.
 * @throws MissingPrerequisite
 */
export async function findPoolDefinitions(): Promise<string> {
  const environment = process.env;
  const go = await findGo({
    module: MODULE,
    title: "The definitions of the Gateway API Inference Extension",
    environment,
    onProgress: (line) => console.log(line),
  });
  const options = { cwd: MODULE, env: { ...environment, GOWORK: "off" }, timeout: 120_000 };
  const answered = await run(go, ["mod", "download", "-json", "sigs.k8s.io/gateway-api-inference-extension"], options).catch(
    (error: unknown) => {
      throw new MissingPrerequisite("Go could not download the Gateway API Inference Extension: check the network.", {
        cause: error,
      });
    },
  );
  const { Dir } = downloadSchema.parse(JSON.parse(answered.stdout));
  return path.join(Dir, "config/crd/bases");
}
