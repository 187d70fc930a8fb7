import { createHash } from "node:crypto";
import { GatewayError } from "../../../contract/errors.ts";

/** Tool names of one request in the form that both protocols accept, and back. */
export interface ToolNames {
  /** The name sent upstream. */
  toUpstream(name: string): string;
  /** The name as the client knows it; a name that the model made up is unchanged. */
  toClient(name: string): string;
}

const LEGAL = /^[a-zA-Z0-9_-]{1,64}$/;
const KEPT_LENGTH = 55;

/**
 * Both protocols take 64 letters, digits, `_` and `-`. Another name keeps its first 55 characters and gets 8
 * hexadecimal digits of its hash: the same in every turn, so that prompt caches hit.
 *
 * @param names every tool name of the request: its tools, its tool choice, its history.
 * @throws GatewayError `invalid_request` when two names become one.
 */
export function createToolNames(names: Iterable<string>): ToolNames {
  const originals = new Map<string, string>();
  for (const name of names) {
    const legal = legalName(name);
    const other = originals.get(legal);
    if (other !== undefined && other !== name) {
      throw new GatewayError(
        "invalid_request",
        "Two tool names become identical in the form that this model accepts. Rename one of them.",
        {
          field: "tools",
        },
      );
    }
    originals.set(legal, name);
  }
  return {
    toUpstream: legalName,
    toClient: (name) => originals.get(name) ?? name,
  };
}

function legalName(name: string): string {
  if (LEGAL.test(name)) return name;
  const kept = name.slice(0, KEPT_LENGTH).replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  return `${kept}_${createHash("sha256").update(name).digest("hex").slice(0, 8)}`;
}
