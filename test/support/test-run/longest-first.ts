import path from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * One project after another: a worker that is free goes on with the next file of its project, with everything loaded. Kubernetes'
 * programs may still be building when a run begins, files of "kube" and "chart" share API servers, and short files fill the gaps
 * at its end.
 */
const PROJECTS = ["envoy", "clients", "browser", "fuzz", "postgres", "cluster", "kube", "chart", "golden", "unit"];

/** Files that take longest in their project: started last, they would run alone at its end. */
const LONG = [
  "envoy/failures/chaos.night",
  "envoy/failures/rolling-restart",
  "envoy/failures/damaged-journal",
  "envoy/local/failure",
  "envoy/credit/credit",
  "envoy/failures/postgres-away",
  "envoy/answers/long",
  "envoy/answers/broken",
  "clients/tools",
  "clients/sdks",
  "browser/widths",
  "browser/journey",
  "postgres/access/access",
  "kube/operator/faults",
  "cluster/outages.night",
];

/** Orders all files of a run, whatever their project. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => rank(a) - rank(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

function rank({ moduleId, project }: TestSpecification): number {
  const long = LONG.findIndex((name) => moduleId.endsWith(path.join("test", `${name}.test.ts`)));
  return (PROJECTS.indexOf(project.name) + 1) * (LONG.length + 1) + (long === -1 ? LONG.length : long);
}
