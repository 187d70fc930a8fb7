import path from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take over a minute: started last, they would run alone at the end. */
const LONG = [
  "browser/widths",
  "envoy/failures/chaos.night",
  "envoy/failures/rolling-restart",
  "postgres/access/access",
  "envoy/failures/damaged-journal",
  "browser/journey",
  "envoy/local/failure",
  "envoy/credit/credit",
  "envoy/failures/postgres-away",
  "envoy/answers/long",
  "clients/tools",
  "kube/operator/faults",
  "clients/sdks",
  "envoy/answers/broken",
];

/** Files that take longest in their project, but need programs that may still be building when the run begins. */
const FIRST_OF_PROJECT = ["cluster/outages.night"];

/** Kubernetes' programs may still be building when a run begins, and short files fill the gaps at its end. */
const PROJECTS = ["envoy", "clients", "browser", "fuzz", "postgres", "kube", "cluster", "chart", "golden", "unit"];

/** Orders all files of a run, whatever their project. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => rank(a) - rank(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

function rank({ moduleId, project }: TestSpecification): number {
  const isFile = (name: string) => moduleId.endsWith(path.join("test", `${name}.test.ts`));
  const long = LONG.findIndex(isFile);
  if (long !== -1) return long;
  return LONG.length + PROJECTS.indexOf(project.name) + (FIRST_OF_PROJECT.some(isFile) ? 0 : 0.5);
}
