import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import type { UserFilter } from "../../../ledger/provisioning/users.ts";
import { parseFilter } from "./filter.ts";
import type { Selection } from "./selection.ts";

/** Entries of one page of users, at most. */
export const MAX_PAGE = 200;
/** More than a user has. */
const MAX_NAMES = 50;
/** With the schema's name before it. */
const MAX_NAME_CHARACTERS = 200;

/** Which users, of which page, with which attributes (RFC 7644, 3.4.2). */
export interface UserQuery {
  filter: UserFilter | undefined;
  /** The first entry, from 1 on. */
  startIndex: number;
  count: number;
  selection: Selection;
}

const number = z.coerce.number("must be a whole number").pipe(z.int("must be a whole number"));
/** In the address, names are separated by commas; in a body, they are a list. An empty text selects nothing in particular. */
const names = z
  .union([z.string().transform((text) => text.split(",")), z.array(z.string())], "must be attribute names")
  .refine(({ length }) => length <= MAX_NAMES, `must have at most ${MAX_NAMES} names`)
  .transform((list) => list.filter((name) => name.trim() !== ""))
  .refine((list) => list.every(({ length }) => length <= MAX_NAME_CHARACTERS), "must contain only existing attributes")
  .transform((list) => (list.length === 0 ? undefined : list));
const querySchema = z.object(
  {
    filter: z.string("must be given once, as a string").optional(),
    startIndex: number.optional(),
    count: number.optional(),
    attributes: names.optional(),
    excludedAttributes: names.optional(),
  },
  "must be an object",
);

/** Reads the parameters of an address, or the body of a search. @throws GatewayError `invalid_request`. */
export function readQuery(query: unknown): UserQuery {
  const { data, error } = querySchema.safeParse(query);
  if (error !== undefined) {
    const [issue] = error.issues;
    const field = String(issue?.path[0] ?? "");
    throw new GatewayError("invalid_request", `${field === "" ? "The body" : field} ${issue?.message ?? "is not valid"}.`, {
      field,
    });
  }
  const { filter, startIndex = 1, count = MAX_PAGE, attributes, excludedAttributes } = data;
  return {
    filter: filter === undefined ? undefined : parseFilter(filter),
    startIndex: Math.max(startIndex, 1),
    count: Math.min(Math.max(count, 0), MAX_PAGE),
    selection: { attributes, excludedAttributes },
  };
}
