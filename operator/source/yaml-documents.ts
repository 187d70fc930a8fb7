import { isScalar, LineCounter, parseAllDocuments, visit, type Document } from "yaml";

export type ParsedYaml =
  | { kind: "good"; documents: readonly { line: number; value: unknown }[] }
  | { kind: "bad"; problem: string; line: number | null };

const MAX_DOCUMENTS = 1_000;
/** How many nodes a document's aliases may expand to in total: this stops a "billion laughs". */
const MAX_ALIAS_COUNT = 100;

/** The non-empty documents of a YAML text. No problem ever quotes the text, which may contain a credential. */
export function parseYaml(text: string): ParsedYaml {
  const lineCounter = new LineCounter();
  const lineAt = (offset: number) => lineCounter.linePos(offset).line;
  const lineOf = (document: Document) => lineAt(document.contents?.range?.[0] ?? 0);
  let line: number | null = null;
  try {
    // The library compares every key of a mapping with every other: 256 KiB of keys would take it minutes.
    const documents = [parseAllDocuments(text, { lineCounter, uniqueKeys: false })].flat();
    if (documents.length > MAX_DOCUMENTS) return bad(`has more than ${MAX_DOCUMENTS} documents; spread them over several files`);
    const [broken] = documents.flatMap(({ errors }) => errors);
    if (broken !== undefined) return invalid(lineAt(broken.pos[0]), broken.code.toLowerCase().replaceAll("_", " "));
    const values: { line: number; value: unknown }[] = [];
    for (const document of documents) {
      line = lineOf(document);
      const repeated = findRepeatedKey(document);
      if (repeated !== undefined) return invalid(lineAt(repeated), "duplicate key");
      const value: unknown = document.toJS({ maxAliasCount: MAX_ALIAS_COUNT });
      if (document.contents !== null && value !== null) values.push({ line, value });
    }
    return { kind: "good", documents: values };
  } catch (error) {
    if (error instanceof RangeError) return bad("is nested too deeply", line);
    if (error instanceof ReferenceError && error.message.startsWith("Excessive alias count"))
      return bad(`uses its aliases too often; replace them with their values`, line);
    return bad("cannot be read as YAML; check its aliases and tags", line);
  }
}

function bad(problem: string, line: number | null = null): ParsedYaml {
  return { kind: "bad", problem, line };
}

function invalid(line: number, why: string): ParsedYaml {
  return bad(`is not valid YAML at line ${line} (${why})`, line);
}

/** The position of a mapping's first repeated key. */
function findRepeatedKey(document: Document): number | undefined {
  let found: number | undefined;
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) {
          found = key.range?.[0] ?? 0;
          return visit.BREAK;
        }
        seen.add(key.value);
      }
      return undefined;
    },
  });
  return found;
}
