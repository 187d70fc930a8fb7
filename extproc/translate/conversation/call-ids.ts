import { mintToolId } from "./ids.ts";

export type CallIds = (id: string, index: number) => string;

/** Ids of one answer's calls: the server's own, or minted if it gave none or repeated one. */
export function createCallIds(requestId: string, prefix: "toolu_" | "call_" = "call_"): CallIds {
  const used = new Set<string>();
  return (id, index) => {
    const unique = id !== "" && !used.has(id) ? id : mintToolId(prefix, { requestId, index });
    used.add(unique);
    return unique;
  };
}
