import * as z from "zod";
import { parseModelResource, type ModelResource } from "../model/resource.ts";
import { parseSecretResource, type SecretResource } from "./secret-resource.ts";
import type { Refusal } from "./source.ts";
import { parseYaml } from "./yaml-documents.ts";

/** A valid resource of a manifest file. */
export type ManifestEntry = {
  /** `Model default/modelx-chat`. */
  identity: string;
  file: string;
  line: number;
} & ({ kind: "Model"; resource: ModelResource } | { kind: "Secret"; resource: SecretResource });

export interface ManifestReading {
  entries: readonly ManifestEntry[];
  refusals: readonly Refusal[];
}

/** Rejects a whole file; its previous content stays active. */
export function refuseFile(
  file: string,
  problem: string,
  previous: readonly ManifestEntry[],
  line: number | null = null,
): ManifestReading {
  return {
    entries: previous,
    refusals: [{ origin: file, line, subject: null, problem, isLastGoodKept: previous.length > 0 }],
  };
}

/**
 * The resources of one file. An invalid one is rejected, and replaced by its last valid version in `previous`, if any; a file
 * that is not valid YAML, or is empty, counts as half written and changes nothing.
 */
export function readManifest(file: string, text: string, previous: readonly ManifestEntry[]): ManifestReading {
  const parsed = parseYaml(text);
  if (parsed.kind === "bad") return refuseFile(file, parsed.problem, previous, parsed.line);
  if (parsed.documents.length === 0) return refuseFile(file, "is empty; to remove its resources, remove the file", previous);
  const readings = parsed.documents.map(({ line, value }) => readDocument({ file, line, document: value, previous }));
  return {
    entries: readings.flatMap(({ entries }) => entries),
    refusals: readings.flatMap(({ refusals }) => refusals),
  };
}

interface DocumentInput {
  file: string;
  line: number;
  document: unknown;
  previous: readonly ManifestEntry[];
}

function readDocument({ file, line, document, previous }: DocumentInput): ManifestReading {
  const { kind, name, namespace } = labelOf(document);
  const subject = name === null ? kind : `${kind ?? "Resource"} ${name}`;
  const identity = `${kind} ${namespace}/${name}`;
  const refuse = (problem: string): ManifestReading => {
    const lastGood = previous.filter((entry) => entry.identity === identity);
    return { entries: lastGood, refusals: [{ origin: file, line, subject, problem, isLastGoodKept: lastGood.length > 0 }] };
  };

  switch (kind) {
    case "Model": {
      const parsed = parseModelResource(document);
      if (parsed.kind === "bad") return refuse(parsed.problems.join("; "));
      return { entries: [{ kind, identity, file, line, resource: parsed.resource }], refusals: [] };
    }
    case "Secret": {
      const parsed = parseSecretResource(document);
      if (parsed.kind === "bad") return refuse(parsed.problems.join("; "));
      return { entries: [{ kind, identity, file, line, resource: parsed.resource }], refusals: [] };
    }
    case null:
    default:
      return refuse("kind must be Model or Secret");
  }
}

const labelSchema = z.object({
  kind: z.string().nullable().catch(null),
  metadata: z
    .object({ name: z.string().nullable().catch(null), namespace: z.string().catch("default") })
    .catch({ name: null, namespace: "default" }),
});

/** A document's own name, however invalid the rest of it is. */
function labelOf(document: unknown): { kind: string | null; name: string | null; namespace: string } {
  const result = labelSchema.safeParse(document);
  return result.success ? { kind: result.data.kind, ...result.data.metadata } : { kind: null, name: null, namespace: "default" };
}
