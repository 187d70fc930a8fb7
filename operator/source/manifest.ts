import { LineCounter, parseAllDocuments, type Document } from "yaml";
import * as z from "zod";
import { parseModelResource, type ModelResource } from "../model/resource.ts";
import { parseSecretResource, type SecretResource } from "./secret-resource.ts";
import type { Refusal } from "./source.ts";

/** One good resource of a manifest file. */
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

/**
 * The resources of one file. What is not good is refused, and its last good version, where `previous` has one, stands in
 * for it; a file that cannot be read as YAML, or is empty, is taken for half written and changes nothing.
 */
export function readManifest(file: string, text: string, previous: readonly ManifestEntry[]): ManifestReading {
  const lineCounter = new LineCounter();
  const documents = [parseAllDocuments(text, { lineCounter })].flat();
  const refuseFile = (problem: string, line: number | null): ManifestReading => ({
    entries: previous,
    refusals: [{ origin: file, line, subject: null, problem, isLastGoodKept: previous.length > 0 }],
  });

  const [broken] = documents.flatMap(({ errors }) => errors);
  if (broken !== undefined) {
    // The library's message quotes the line, which may hold a credential.
    const line = lineCounter.linePos(broken.pos[0]).line;
    return refuseFile(`is not valid YAML at line ${line} (${broken.code.toLowerCase().replaceAll("_", " ")})`, line);
  }
  const filled = documents.filter((document) => document.contents !== null && document.toJS() !== null);
  if (filled.length === 0) return refuseFile("is empty; to remove its resources, remove the file", null);

  const lineOf = (document: Document) => lineCounter.linePos(document.contents?.range?.[0] ?? 0).line;
  const readings = filled.map((document) => readDocument({ file, line: lineOf(document), document: document.toJS(), previous }));
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

/** What a document calls itself, however wrong the rest of it is. */
function labelOf(document: unknown): { kind: string | null; name: string | null; namespace: string } {
  const result = labelSchema.safeParse(document);
  return result.success ? { kind: result.data.kind, ...result.data.metadata } : { kind: null, name: null, namespace: "default" };
}
