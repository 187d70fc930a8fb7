import { mkdtemp, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { ROOT } from "../../charts/generate/outputs.ts";
import type { Cluster } from "../support/cluster/access.ts";
import { mergedValues, SITE_VALUES } from "./release.ts";

export interface ShellOptions {
  variables?: Readonly<Record<string, string>>;
  /** For `helm upgrade`, besides what this node needs. */
  values?: object;
  /** The program; Helm 3 if missing. */
  helm?: string;
}

/** A shell as a reader of the guide has one, in a checkout. */
export interface Shell {
  /** Files that steps write are here. */
  readonly directory: string;
  run(script: string): Promise<string>;
}

/** Runs steps as they are written; only `helm upgrade` is told what this small node needs. */
export async function createShell(
  cluster: Cluster,
  { variables = {}, values = {}, helm = cluster.facts.helm }: ShellOptions,
): Promise<Shell> {
  const { facts } = cluster;
  const directory = await mkdtemp(path.join(facts.directory, "reader-"));
  await symlink(path.join(ROOT, "charts"), path.join(directory, "charts"));
  await writeFile(path.join(directory, "site.yaml"), mergedValues(SITE_VALUES, values));
  const settings = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'\n`);
  const prelude = `cd '${directory}'
    kubectl() { '${facts.kubectl}' "$@"; }
    helm() { if [[ "$1" == upgrade ]]; then '${helm}' "$@" --values site.yaml; else '${helm}' "$@"; fi; }
    ${settings.join("")}`;
  return { directory, run: (script) => cluster.run(["bash", "-euo", "pipefail", "-c", `${prelude}\n${script}`]) };
}
