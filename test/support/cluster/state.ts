import { readFile, rename, writeFile } from "node:fs/promises";
import * as z from "zod";
import { eventually } from "../eventually.ts";
import { MissingPrerequisite } from "../prerequisite.ts";
import type { ClusterFacts } from "./cluster.ts";

const factsSchema = z.object({
  directory: z.string(),
  pid: z.int(),
  kubectl: z.string(),
  helm: z.string(),
  kubeconfig: z.string(),
  relay: z.string(),
}) satisfies z.ZodType<ClusterFacts>;

const stateSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("running"), facts: factsSchema }),
  z.object({ kind: z.literal("failed"), name: z.string(), message: z.string() }),
]);

/** Global set-ups provide values before the first test file, and a cluster takes longer: tests find this in a file. */
export async function publishState(file: string, state: z.infer<typeof stateSchema>): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Waits for the cluster. @throws Error with what its set-up failed of. */
export async function awaitCluster(file: string, withinMs: number): Promise<ClusterFacts> {
  const text = await eventually(() => readFile(file, "utf8"), { withinMs, everyMs: 250 });
  const state = stateSchema.parse(JSON.parse(text));
  if (state.kind === "running") return state.facts;
  throw state.name === "MissingPrerequisite" ? new MissingPrerequisite(state.message) : new Error(state.message);
}
