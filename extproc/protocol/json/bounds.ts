import { GatewayError } from "../../../contract/errors.ts";
import { skipString } from "./scan.ts";

/**
 * The maximum structure of JSON that is parsed (docs/decisions/0031). Parsing and translating take time and memory by values, not
 * by bytes: 30 MB of prose are one value, 30 MB of `{},` are ten million.
 */
export interface Bounds {
  /** Values, counted by their commas and opening brackets. */
  parts: number;
  /** Values with a name, if fewer: a new name takes ten times as long as a number. */
  members?: number;
  depth: number;
}

/** Of a request: the longest agent conversations, with hundreds of tools, have some ten thousand. */
export const REQUEST_BOUNDS: Bounds = { parts: 100_000, depth: 131_072 };

/** Of a request for embeddings: token ids are numbers, one for each token. It has no more members than others. */
export const EMBEDDINGS_BOUNDS: Bounds = { ...REQUEST_BOUNDS, parts: 400_000, members: REQUEST_BOUNDS.parts };

/** Of one answer: log probabilities of thousands of tokens are the longest that servers send. */
export const ANSWER_BOUNDS: Bounds = { parts: 1_000_000, depth: 131_072 };

/** Of one event of a streamed answer. */
export const EVENT_BOUNDS: Bounds = { parts: 150_000, depth: 131_072 };

/** JSON with more structure than the gateway reads. */
export class ExcessiveStructure extends Error {
  readonly kind: keyof Bounds;
  readonly bounds: Bounds;

  constructor(kind: keyof Bounds, bounds: Bounds) {
    super(EXCESS[kind](bounds));
    this.kind = kind;
    this.bounds = bounds;
  }
}

const EXCESS = {
  parts: ({ parts }) => `the JSON has more than ${parts} values`,
  members: ({ members }) => `the JSON has more than ${members} members`,
  depth: ({ depth }) => `the JSON is nested more than ${depth} deep`,
} as const satisfies Record<keyof Bounds, (bounds: Bounds) => string>;

/** The same error, worded for the sender of a request. */
export function tooMuchStructure({ kind, bounds }: ExcessiveStructure, field?: string): GatewayError {
  const where = field === undefined ? "The request body" : `\`${field}\``;
  return new GatewayError("invalid_request", `${where} ${REMEDIES[kind](bounds)}`, field === undefined ? {} : { field });
}

const REMEDIES = {
  parts: ({ parts }) => `has more than ${parts} JSON values. Send fewer messages, tools, inputs or members.`,
  members: ({ members }) => `has more than ${members} members of JSON objects. Send fewer.`,
  depth: ({ depth }) => `is nested more than ${depth} levels deep. Reduce the nesting.`,
} as const satisfies Record<keyof Bounds, (bounds: Bounds) => string>;

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Counts the structure of one text between its strings. */
export interface StructureCount {
  parts(): number;
  /**
   * Walks from here to the next quote, or to `end`, the text's by default.
   * @returns its position.
   * @throws ExcessiveStructure
   */
  walk(json: Buffer, at: number, end?: number): number;
}

export function createStructureCount(bounds: Bounds): StructureCount {
  const { members: maxMembers = Infinity } = bounds;
  let parts = 0;
  let members = 0;
  let depth = 0;
  return {
    parts: () => parts,
    walk(json, at, end = json.length) {
      for (let next = at; next < end; next++) {
        const byte = json[next] ?? 0;
        // Digits and spaces, which are most of what is between strings, six times as fast as through the switch.
        if (byte < QUOTE || (byte > COMMA && byte < OPEN_BRACKET && byte !== COLON)) continue;
        switch (byte) {
          case QUOTE:
            return next;
          case COMMA:
            parts += 1;
            break;
          case COLON:
            members += 1;
            if (members > maxMembers) throw new ExcessiveStructure("members", bounds);
            continue;
          case OPEN_BRACE:
          case OPEN_BRACKET:
            parts += 1;
            depth += 1;
            if (depth > bounds.depth) throw new ExcessiveStructure("depth", bounds);
            break;
          case CLOSE_BRACE:
          case CLOSE_BRACKET:
            depth -= 1;
            break;
          default:
            continue;
        }
        if (parts > bounds.parts) throw new ExcessiveStructure("parts", bounds);
      }
      return end;
    },
  };
}

/**
 * Parses JSON from others.
 * @throws SyntaxError, ExcessiveStructure.
 */
export function parseWithin(text: string | Buffer, bounds: Bounds): unknown {
  // This few bytes cannot contain more.
  if (text.length > bounds.parts) countStructure(typeof text === "string" ? Buffer.from(text) : text, bounds);
  return JSON.parse(typeof text === "string" ? text : text.toString("utf8"));
}

/** Parses JSON inside strings of another text: all of it together is bounded. */
export interface EmbeddedJson {
  /** @throws SyntaxError, ExcessiveStructure. */
  parse(text: string): unknown;
}

export function createEmbeddedJson(bounds: Bounds): EmbeddedJson {
  let { parts } = bounds;
  return {
    parse(text) {
      try {
        parts -= countStructure(Buffer.from(text), { ...bounds, parts });
      } catch (error) {
        parts = 0;
        throw error instanceof ExcessiveStructure ? new ExcessiveStructure(error.kind, bounds) : error;
      }
      return JSON.parse(text);
    },
  };
}

/** @returns the number of its parts. @throws ExcessiveStructure. */
function countStructure(json: Buffer, bounds: Bounds): number {
  const count = createStructureCount(bounds);
  for (let at = count.walk(json, 0); at < json.length; at = count.walk(json, skipString(json, at)));
  return count.parts();
}
