import { RawJson } from "../../protocol/json/raw.ts";
import { rawMember, scanElements } from "../../protocol/json/scan.ts";

/**
 * Schemas, tool inputs and similar values as the client wrote them: parsing would round big integers, and nesting deeper than the
 * stack could not be written again.
 */
export interface RequestText {
  /** A member of `messages[turn].content[block]`. */
  block(turn: number, block: number, member: string): RawJson | undefined;
  /** A member of `tools[tool]`. */
  tool(tool: number, member: string): RawJson | undefined;
  /** A member below the top level: `["output_config", "format", "schema"]`. */
  at(path: readonly string[]): RawJson | undefined;
}

/** @param body the request as received; it has been parsed and checked before. */
export function createRequestText(body: Buffer): RequestText {
  const turns = once(() => scanElements(rawMember(body, "messages") ?? NONE));
  const tools = once(() => scanElements(rawMember(body, "tools") ?? NONE));
  const blocks = new Map<number, Buffer[]>();

  function blocksOf(turn: number): Buffer[] {
    const known = blocks.get(turn);
    if (known !== undefined) return known;
    const found = scanElements(rawMember(turns()[turn], "content") ?? NONE);
    blocks.set(turn, found);
    return found;
  }

  return {
    block: (turn, block, member) => raw(rawMember(blocksOf(turn)[block], member)),
    tool: (tool, member) => raw(rawMember(tools()[tool], member)),
    at: (path) => raw(path.reduce<Buffer | undefined>((json, name) => rawMember(json, name), body)),
  };
}

const NONE = Buffer.alloc(0);

function raw(bytes: Buffer | undefined): RawJson | undefined {
  return bytes === undefined ? undefined : new RawJson(bytes.toString("utf8"));
}

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}
