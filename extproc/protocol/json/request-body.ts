import type { Form } from "../form/form.ts";
import { findOfferedTool, type OfferedTool } from "../offered-tools.ts";
import { isServerTool } from "../server-tool.ts";
import type { JsonObject } from "./object.ts";
import { NO_MEDIA, type Media } from "./media.ts";
import { itself, type Outline } from "./outline.ts";
import type { Member } from "./scan.ts";
import { editMembers, memberAsWritten, type MemberEdits } from "./splice.ts";

/** A request's body, a JSON object or a form, parsed only as far as needed: passthrough parts need not be parsed. */
export interface RequestBody {
  /** Its texts are members; absent for JSON. */
  readonly form?: Form;
  /** As received. */
  readonly bytes: Buffer;
  /** Parsed, with long strings empty (outline.ts): for names, numbers and flags, and for the presence of members. */
  readonly outline: JsonObject;
  /** Inline pictures and files. */
  readonly media: Readonly<Media>;
  /** The first tool on offer that the model server would run; null for none. Looked for when first requested. */
  serverTool(): OfferedTool | null;
  /** One member; a string is whole. */
  member(name: string): unknown;
  /** One member as written, the last one if there are several. */
  raw(name: string): Buffer | undefined;
  /** All of it. Parsed when first requested. */
  whole(): JsonObject;
  /** The members as written, including duplicates; positions are the outline's. */
  members(): readonly Pick<Member, "name">[];
  /** The same with the bytes of each value as written. */
  sizes(): readonly { readonly name: string; readonly bytes: number }[];
  /** The body with changed members, as editMembers does it; the same buffer if nothing changes. */
  edit(edits: MemberEdits): Buffer;
}

interface Source {
  bytes: Buffer;
  outline: Outline;
  /** What the outline says. */
  parsed: JsonObject;
  /** Reads all of it; called once at most. */
  parse(): JsonObject;
}

export function createRequestBody({ bytes, outline, parsed, parse }: Source): RequestBody {
  let whole: JsonObject | undefined;
  const readWhole = () => (whole ??= parse());
  return {
    bytes,
    outline: parsed,
    serverTool: lazyServerTool(parsed),
    media: outline.media,
    member: (name) => (parsed[name] === "" ? readWhole()[name] : parsed[name]),
    raw: (name) => memberAsWritten(bytes, name, outline),
    whole: readWhole,
    members: outline.members,
    sizes: () => memberSizes(outline),
    edit: (edits) => editMembers(bytes, edits, outline),
  };
}

function lazyServerTool(outline: JsonObject): () => OfferedTool | null {
  let found: OfferedTool | null | undefined;
  return () => (found === undefined ? (found = findOfferedTool(outline, isServerTool)) : found);
}

function memberSizes({ members, toOriginal }: Outline): { name: string; bytes: number }[] {
  return members().map(({ name, value }) => ({ name, bytes: toOriginal(value.end) - toOriginal(value.start) }));
}

/** A completely parsed body. */
export function parsedBody(bytes: Buffer, parsed: JsonObject): RequestBody {
  const outline = itself(bytes);
  return {
    bytes,
    outline: parsed,
    serverTool: lazyServerTool(parsed),
    media: NO_MEDIA,
    member: (name) => parsed[name],
    raw: (name) => memberAsWritten(bytes, name, outline),
    whole: () => parsed,
    members: outline.members,
    sizes: () => memberSizes(outline),
    edit: (edits) => editMembers(bytes, edits, outline),
  };
}
