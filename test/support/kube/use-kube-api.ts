import { afterAll, beforeAll, inject } from "vitest";
import { borrow } from "../test-run/loan.ts";
import { openKubeApi, startKubeApi, type KubeApi, type OwnKubeApi } from "./api.ts";
import { kubeAccessSchema, kubeServersSocket } from "./lent.ts";

/**
 * A real Kubernetes API for the test file that calls this at its top; the result gives it, inside a test or a hook. Other
 * files have its servers before and after, and the file finds nothing of what they did.
 */
export function useKubeApi(): () => KubeApi {
  return useApi(borrowKubeApi);
}

/** One with servers of its own, for a test file that makes them fail. */
export function useOwnKubeApi(): () => OwnKubeApi {
  return useApi(startKubeApi);
}

async function borrowKubeApi(): Promise<KubeApi> {
  const loan = await borrow(kubeServersSocket(inject("runDirectory")), "");
  const api = await openKubeApi(kubeAccessSchema.parse(loan.lent));
  return {
    ...api,
    async stop() {
      await api.stop();
      await loan.giveBack(true);
    },
  };
}

function useApi<Api extends KubeApi>(start: () => Promise<Api>): () => Api {
  let api: Api | undefined;
  beforeAll(async () => {
    api = await start();
  });
  afterAll(() => api?.stop());
  return () => {
    if (api === undefined) throw new Error("The Kubernetes API is not running: ask for it inside a test.");
    return api;
  };
}
