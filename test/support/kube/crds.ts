import { fileURLToPath } from "node:url";
import * as z from "zod";
import { eventually } from "../eventually.ts";
import type { KubeApi } from "./api.ts";

const DEFINITIONS = fileURLToPath(new URL("../../../crds", import.meta.url));
const WITHIN = { withinMs: 60_000, everyMs: 100 };

const conditionSchema = z.object({ type: z.string(), status: z.string() });
const definitionsSchema = z.object({
  items: z
    .array(
      z.object({
        metadata: z.object({ name: z.string() }),
        // One that was made a moment ago has none yet.
        status: z.object({ conditions: z.array(conditionSchema).default([]) }).prefault({}),
      }),
    )
    .min(1),
});

/** Applies crds/ and waits until Models and ApiKeys can be used. */
export async function installCrds(api: Pick<KubeApi, "kubectl" | "read">): Promise<void> {
  await api.kubectl(["apply", "--filename", DEFINITIONS]);
  await untilEstablished(api);
  // A definition that is established is served a moment later.
  await eventually(
    () => Promise.all(["models", "apikeys"].map((plural) => api.read(`/apis/modelgateway.dev/v1alpha1/${plural}`))),
    WITHIN,
  );
}

/** Waits for all definitions. */
export async function untilEstablished({ read }: Pick<KubeApi, "read">): Promise<void> {
  await eventually(async () => {
    const { items } = definitionsSchema.parse(await read("/apis/apiextensions.k8s.io/v1/customresourcedefinitions"));
    for (const { metadata, status } of items)
      if (!status.conditions.some(({ type, status: is }) => type === "Established" && is === "True"))
        throw new Error(`${metadata.name} is not established`);
  }, WITHIN);
}
