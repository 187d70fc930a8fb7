import { mintToolId } from "./ids.ts";

/** Ids of one answer's calls: the server's own, or minted if it gave none or repeated one. */
export function createCallIds(requestId: string): (id: string, index: number) => string {
  const used = new Set<string>();
  return (id, index) => {
    const unique = id !== "" && !used.has(id) ? id : mintToolId("call_", { requestId, index });
    used.add(unique);
    return unique;
  };
}
