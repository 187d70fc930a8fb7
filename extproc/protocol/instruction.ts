import type { RequestBody } from "./json/request-body.ts";

const NOT_READ: ReadonlySet<string> = new Set(["model", "user", "usage", "metadata"]);

/**
 * The size of all fields that a model server may read with each text of a request: some models take an instruction, under names
 * that differ between servers. Numbers and flags count too: of a name that is sent twice, servers may read either.
 * @param known fields of the interface, which no server reads as an instruction.
 * @returns bytes as JSON writes them.
 */
export function measureInstruction(body: RequestBody, known: ReadonlySet<string>): number {
  return body.sizes().reduce((sum, { name, bytes }) => sum + (NOT_READ.has(name) || known.has(name) ? 0 : bytes), 0);
}
