import { fileURLToPath } from "node:url";
import { eventually } from "../eventually.ts";
import type { KubeApi } from "./api.ts";

const DEFINITIONS = fileURLToPath(new URL("../../../crds", import.meta.url));

/** Applies crds/ and waits until Models and ApiKeys can be used. */
export async function installCrds({ kubectl }: Pick<KubeApi, "kubectl">): Promise<void> {
  await kubectl(["apply", "--filename", DEFINITIONS]);
  await kubectl(["wait", "--for=condition=Established", "--timeout=60s", "--filename", DEFINITIONS]);
  // A definition that is established is served a moment later.
  await eventually(() => kubectl(["get", "models,apikeys", "--all-namespaces"]), { withinMs: 60_000 });
}
