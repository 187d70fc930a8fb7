import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll } from "vitest";
import { createCommand } from "./commands.ts";
import type { KubeApi } from "./api.ts";
import { findKubeTools } from "./tools.ts";

/** Helm alone, for the test file that calls this at its top: `helm template` and `helm lint` ask no API server. */
export function useHelm(): () => Pick<KubeApi, "helm"> {
  let directory: string | undefined;
  let helm: KubeApi["helm"] | undefined;
  beforeAll(async () => {
    const tools = await findKubeTools({ environment: process.env, onProgress: (line) => console.log(line) });
    directory = await mkdtemp(path.join(tmpdir(), "gateway-helm-"));
    helm = createCommand(tools.helm, { directory, kubeconfig: path.join(directory, "none") });
  });
  afterAll(async () => {
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });
  return () => {
    if (helm === undefined) throw new Error("Helm has not been found yet: ask for it inside a test.");
    return { helm };
  };
}
