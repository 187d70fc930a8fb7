import { READY_COLUMNS, type ResourceDefinition } from "../crd/definition.ts";
import { modelSpecSchema } from "./resource.ts";
import { modelStatusSchema } from "./status-resource.ts";

/** The source of crds/models.yaml. */
export const MODEL_DEFINITION: ResourceDefinition = {
  kind: "Model",
  plural: "models",
  shortName: "llm",
  description: "A Model is a name that clients can send as model, the servers that serve it, and its prices.",
  columns: [
    { name: "Model", type: "string", jsonPath: ".spec.modelName", description: "What clients send as model." },
    { name: "Backends", type: "string", jsonPath: ".status.backendsSummary", description: "Ready backends, of all." },
    {
      name: "Input",
      type: "string",
      jsonPath: ".spec.pricing.inputPerMillion",
      description: "USD per million tokens.",
      priority: 1,
    },
    {
      name: "Output",
      type: "string",
      jsonPath: ".spec.pricing.outputPerMillion",
      description: "USD per million tokens.",
      priority: 1,
    },
    // A date in the future would show as <invalid>.
    { name: "Sunset", type: "string", jsonPath: ".spec.deprecation.sunsetTime", description: "When it expires.", priority: 1 },
    ...READY_COLUMNS,
  ],
  selectableFields: [".spec.modelName"],
  spec: modelSpecSchema,
  status: modelStatusSchema,
};
