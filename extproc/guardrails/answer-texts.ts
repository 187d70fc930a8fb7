import { createHash, type Hash } from "node:crypto";
import { checkBlocks } from "../protocol/answer-bounds.ts";
import type { JsonObject } from "../protocol/json/object.ts";
import { piecesOf } from "./answer-pieces.ts";
import { ESCAPED_LENGTH, unescapeArguments } from "./escapes.ts";

/** The text of one answer as its events bring it: a client puts the pieces of one location together, and so does the hook. */
export interface AnswerTexts {
  /**
   * Adds the text of an event, or of a complete answer.
   * @returns its characters; 0 if it brings no new text.
   * @throws GatewayError `upstream_error` for more locations than any answer has.
   */
  add(json: JsonObject): number;
  /** What was added since, each with the end of what its location had before. */
  take(): string[];
}

interface Location {
  /** Its text is JSON. */
  isArguments: boolean;
  /** The end of what was taken. */
  before: string;
  fresh: string[];
  /** Of all its text, for protocols that repeat it. */
  hash: Hash | null;
}

/** A phrase that begins in one window and ends in the next is seen whole if it is not longer. */
export const OVERLAP_CHARACTERS = 256;

/** Where the arguments of calls are, in the clients' protocols. */
const ARGUMENTS = /\/(?:arguments|input|partial_json|response\.function_call_arguments\.delta)$/;

/** Texts that were added already. Forgotten ones are checked again. */
const MAX_KNOWN = 16_384;

export function createAnswerTexts(): AnswerTexts {
  const locations = new Map<string, Location>();
  const changed = new Set<Location>();
  /** Whose text has grown since it was last compared. */
  const unknown = new Set<Location>();
  const known = new Set<string>();

  function locationOf(name: string, repeats: boolean): Location {
    const known = locations.get(name);
    if (known !== undefined) return known;
    const location = { isArguments: ARGUMENTS.test(name), before: "", fresh: [], hash: repeats ? createHash("sha256") : null };
    locations.set(name, location);
    checkBlocks(locations.size);
    return location;
  }

  function grow(location: Location, text: string): void {
    location.fresh.push(text);
    changed.add(location);
    if (location.hash === null) return;
    location.hash.update(text);
    unknown.add(location);
  }

  /** The Responses protocol repeats each text when it is done, when its item is, and when all is. */
  function isRepeated(text: string): boolean {
    for (const { hash } of unknown) if (hash !== null) remember(hash.copy().digest("base64"));
    unknown.clear();
    return known.has(createHash("sha256").update(text).digest("base64"));
  }

  function remember(digest: string): void {
    if (known.size >= MAX_KNOWN) known.clear();
    known.add(digest);
  }

  return {
    add(json) {
      const { type } = json;
      const repeats = typeof type === "string" && type.startsWith("response.");
      const isDelta = repeats && type.endsWith(".delta");
      let characters = 0;
      for (const { location, text } of piecesOf(json)) {
        if (repeats && !isDelta && isRepeated(text)) continue;
        grow(locationOf(location, repeats), text);
        characters += text.length;
      }
      return characters;
    },
    take() {
      const texts: string[] = [];
      for (const location of changed) {
        const text = location.before + location.fresh.join("");
        texts.push(location.isArguments ? unescapeArguments(text) : text);
        location.fresh = [];
        location.before = endOf(text, location.isArguments ? ESCAPED_LENGTH * OVERLAP_CHARACTERS : OVERLAP_CHARACTERS);
      }
      changed.clear();
      return texts;
    },
  };
}

/** A copy: a part of a string keeps all of it in memory. */
function endOf(text: string, characters: number): string {
  return Buffer.from(text.slice(-characters), "utf16le").toString("utf16le");
}
