import { ANSWER_BOUNDS, parseWithin } from "../../protocol/json/bounds.ts";
import { isObject } from "../../protocol/json/object.ts";
import { createObjectScan, type ObjectScan } from "../conversation/object-scan.ts";

/** A tool call's arguments in transit: JSON text in pieces. */
export interface ToolArguments {
  /** The part that can be forwarded now. An object streams as it arrives; anything else waits for the end. */
  push(piece: string): string;
  /** How much stays in memory until the end: text waiting for it, and text that later pieces are compared with. */
  heldCharacters(): number;
  /** The object is closed: nothing more can belong to it. */
  isComplete(): boolean;
  /** The rest; nothing is accepted after it. `{}` for a call without arguments, and an object around a value that is not one. */
  end(): string;
}

const SPACE = /^[ \t\r\n]*$/;

/** @param isSnapshot every piece repeats the whole text so far (profile flag; it can't be inferred from the text). */
export function createToolArguments({ isSnapshot }: { isSnapshot: boolean }): ToolArguments {
  let seen = "";
  let held = "";
  let scan: ObjectScan | undefined;
  let isOther = false;
  let hasEnded = false;

  function push(piece: string): string {
    if (hasEnded) return "";
    const added = isSnapshot ? fresh(piece) : piece;
    if (scan !== undefined) return scan.take(added);
    // The first character that is not white space determines what it is.
    const start = isOther ? "" : added.trimStart();
    if (!start.startsWith("{")) {
      isOther ||= start !== "";
      held += added;
      return "";
    }
    scan = createObjectScan();
    return scan.take(start);
  }

  function fresh(snapshot: string): string {
    if (!snapshot.startsWith(seen)) return "";
    const added = snapshot.slice(seen.length);
    seen = snapshot;
    return added;
  }

  return {
    push,
    heldCharacters: () => held.length + seen.length,
    isComplete: () => scan?.isClosed() ?? false,
    end() {
      hasEnded = true;
      const rest = scan === undefined ? objectFrom(held) : "";
      held = "";
      seen = "";
      return rest;
    },
  };
}

/** Arguments that are not an object: absent, an object written as a JSON string, or a value that needs a name. */
function objectFrom(text: string): string {
  if (SPACE.test(text)) return "{}";
  const value = parseOrUndefined(text);
  if (typeof value === "string" && isObject(parseOrUndefined(value))) return value;
  if (value === null) return "{}";
  return JSON.stringify({ _raw: text });
}

function parseOrUndefined(text: string): unknown {
  try {
    return parseWithin(text, ANSWER_BOUNDS);
  } catch {
    // Undefined if it is not JSON.
    return undefined;
  }
}
