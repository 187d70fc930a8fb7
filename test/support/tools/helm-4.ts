import path from "node:path";
import { fileURLToPath } from "node:url";
import { readFile } from "node:fs/promises";
import { findGoTools, type FindGoToolsOptions } from "../go-tools/go-tools.ts";

const MODULE = fileURLToPath(new URL("../../helm-4-tools", import.meta.url));

/**
 * Path of Helm 4, built from test/helm-4-tools/go.mod.
 * @throws MissingPrerequisite
 */
export async function findHelm4(options: FindGoToolsOptions): Promise<string> {
  const [, version] = /helm\.sh\/helm\/v4 (v\S+)/.exec(await readFile(path.join(MODULE, "go.mod"), "utf8")) ?? [];
  const directory = await findGoTools(
    {
      name: "helm-4-tools",
      title: "Helm 4",
      needers: "The tests with Helm 4",
      list: "Helm 4",
      module: MODULE,
      packages: ["helm.sh/helm/v4/cmd/helm"],
      flags: [],
      linked: { "helm.sh/helm/v4/internal/version.version": version },
      renamed: {},
      programs: [["helm", "version"]],
      minutes: 3,
      alternative: "",
    },
    options,
  );
  return path.join(directory, "helm");
}
