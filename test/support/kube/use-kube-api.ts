import { afterAll, beforeAll } from "vitest";
import { startKubeApi, type KubeApi } from "./api.ts";

/** One real Kubernetes API for the test file that calls this at its top; the result gives it, inside a test or a hook. */
export function useKubeApi(): () => KubeApi {
  let api: KubeApi | undefined;
  beforeAll(async () => {
    api = await startKubeApi();
  });
  afterAll(() => api?.stop());
  return () => {
    if (api === undefined) throw new Error("The Kubernetes API is not running: ask for it inside a test.");
    return api;
  };
}
