import { fileURLToPath } from "node:url";
import { eventually } from "../eventually.ts";
import type { KubeApi } from "./api.ts";

const DEFINITIONS = fileURLToPath(new URL("../../../crds", import.meta.url));

/** Applies crds/ and waits until Models and ApiKeys can be used. */
export async function installCrds({ kubectl }: Pick<KubeApi, "kubectl">): Promise<void> {
  await kubectl(["apply", "--filename", DEFINITIONS]);
  await untilEstablished({ kubectl });
  // A definition that is established is served a moment later.
  await eventually(() => kubectl(["get", "models,apikeys", "--all-namespaces"]), { withinMs: 60_000 });
}

/** Waits for all definitions. One that was made a moment ago has no conditions yet, which kubectl takes for an error. */
export async function untilEstablished({ kubectl }: Pick<KubeApi, "kubectl">): Promise<void> {
  await eventually(() => kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]), {
    withinMs: 60_000,
  });
}
