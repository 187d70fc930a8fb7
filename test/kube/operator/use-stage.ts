import { afterAll, afterEach, beforeAll } from "vitest";
import type { KubeApi } from "../../support/kube/api.ts";
import { useKubeApi } from "../../support/kube/use-kube-api.ts";
import { installAccess, TEAM } from "./install.ts";
import { startStage, type Stage } from "./stage.ts";

/** One stage on a Kubernetes API, for the test file that calls this at its top. */
export function useStage(...operators: readonly string[]): { api(): KubeApi; stage(): Stage } {
  return useStageIn([TEAM], ...operators);
}

/** The same, with operators that watch these namespaces. */
export function useStageIn(watch: readonly string[], ...operators: readonly string[]): { api(): KubeApi; stage(): Stage } {
  const api = useKubeApi();
  return { api, stage: useStageOn(api, { watch, operators }) };
}

/** One on the file's API. */
export function useStageOn(
  api: () => KubeApi,
  { watch = [TEAM], operators }: { watch?: readonly string[]; operators: readonly string[] },
): () => Stage {
  let stage: Stage | undefined;
  beforeAll(async () => {
    await installAccess(api(), watch);
    stage = await startStage({ api: api(), operators, watch });
  });
  afterEach(({ task }) => {
    if (task.result?.state !== "fail") return;
    for (const { name, log } of stage?.operators ?? []) console.log(`The last words of ${name}:\n${log().slice(-4_000)}`);
  });
  afterAll(() => stage?.stop());
  return () => {
    if (stage === undefined) throw new Error("The stage is not up: ask for it inside a test.");
    return stage;
  };
}
