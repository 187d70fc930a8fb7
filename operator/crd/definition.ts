import { stringify } from "yaml";
import type * as z from "zod";
import { GROUP, VERSION } from "./group.ts";
import { toStructuralSchema } from "./structural-schema.ts";

/** A column of `kubectl get`; one with priority 1 is shown with `-o wide`. */
export interface PrinterColumn {
  name: string;
  type: "string" | "integer" | "date";
  jsonPath: string;
  description?: string;
  priority?: 1;
}

/** A resource kind, as described to the API server. */
export interface ResourceDefinition {
  kind: string;
  plural: string;
  shortName: string;
  description: string;
  columns: readonly PrinterColumn[];
  /** For `kubectl get --field-selector`. */
  selectableFields: readonly string[];
  spec: z.ZodType;
  status: z.ZodType;
}

/** The columns that summarise a resource's state. */
export const READY_COLUMNS: readonly PrinterColumn[] = [
  conditionColumn("Ready", "status"),
  conditionColumn("Reason", "reason"),
  { ...conditionColumn("Message", "message"), priority: 1 },
  { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
];

function conditionColumn(name: string, part: string): PrinterColumn {
  return { name, type: "string", jsonPath: `.status.conditions[?(@.type=="Ready")].${part}` };
}

/** The CustomResourceDefinition as YAML, the content of `crds/`. */
export function renderDefinition(definition: ResourceDefinition): string {
  const header = "# Made from the zod schemas in operator/ by `npm run crds:update`: change it there.\n";
  return header + stringify(toCustomResourceDefinition(definition), { lineWidth: 130, aliasDuplicateObjects: false });
}

function toCustomResourceDefinition({ kind, plural, shortName, description, ...definition }: ResourceDefinition): object {
  const singular = kind.toLowerCase();
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames: [shortName], categories: ["gateway"] },
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          selectableFields: definition.selectableFields.map((jsonPath) => ({ jsonPath })),
          additionalPrinterColumns: definition.columns,
          schema: {
            openAPIV3Schema: {
              description,
              type: "object",
              required: ["spec"],
              properties: {
                apiVersion: { description: `${GROUP}/${VERSION}.`, type: "string" },
                kind: { description: `${kind}.`, type: "string" },
                metadata: { type: "object" },
                spec: toStructuralSchema(definition.spec),
                status: toStructuralSchema(definition.status),
              },
            },
          },
        },
      ],
    },
  };
}
