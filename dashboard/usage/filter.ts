import * as z from "zod";
import { readEndUserFilter, readTagFilter } from "../../contract/label-query.ts";
import { listKeysCreatedBy } from "../../ledger/keys/key-creators.ts";
import type { Reader } from "../../ledger/postgres/database.ts";
import { OUTCOMES, type Outcome } from "../../ledger/settlement/settlement.ts";
import type { RequestListing } from "../../ledger/usage/request-list.ts";

/** Which of an account's requests: those of a key, of a model, that ended so; undefined: all. */
export interface RequestFilter {
  /** Public id. */
  key: string | undefined;
  /** Who created the key: the person's id. */
  member: string | undefined;
  model: string | undefined;
  outcome: Outcome | undefined;
  /** `team=search`. */
  tag: string | undefined;
  endUser: string | undefined;
}

/** A form sends what nobody chose as "". */
function chosen<T extends z.ZodType<string>>(schema: T) {
  return z
    .literal("")
    .transform(() => undefined)
    .or(schema)
    .optional();
}

const filterShape = {
  key: chosen(z.string().regex(/^[0-9A-Za-z]{12}$/)),
  member: chosen(z.uuid()),
  // Postgres takes no NUL in a text.
  model: chosen(z.string().regex(/^[^\0]{1,128}$/)),
  outcome: chosen(z.enum(OUTCOMES)),
  tag: chosen(z.string().refine((text) => isReadable(() => readTagFilter(text)))),
  end_user: chosen(z.string().refine((text) => isReadable(() => readEndUserFilter(text)))),
};
const filterSchema = z.object(filterShape);
const lenientSchema = z.object({
  key: filterShape.key.catch(undefined),
  member: filterShape.member.catch(undefined),
  model: filterShape.model.catch(undefined),
  outcome: filterShape.outcome.catch(undefined),
  tag: filterShape.tag.catch(undefined),
  end_user: filterShape.end_user.catch(undefined),
});

/** What a page's address asks for; what makes no sense in it counts as nothing. */
export function readFilter(query: unknown): RequestFilter {
  const { end_user: endUser, ...filter } = lenientSchema.parse(query ?? {});
  return withAll({ ...filter, endUser });
}

/** The same for a file, which must not become one of everything. @returns undefined for what makes no sense. */
export function readStrictFilter(query: unknown): RequestFilter | undefined {
  const { data } = filterSchema.safeParse(query ?? {});
  if (data === undefined) return undefined;
  const { end_user: endUser, ...filter } = data;
  return withAll({ ...filter, endUser });
}

function withAll({ key, member, model, outcome, tag, endUser }: Partial<RequestFilter>): RequestFilter {
  return { key, member, model, outcome, tag, endUser };
}

function isReadable(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

/** As the ledger takes it. */
export async function listingOf(
  database: Reader,
  accountId: string,
  { key, member, model, outcome, tag, endUser }: RequestFilter,
): Promise<Pick<RequestListing, "keyIds" | "model" | "outcome" | "labels">> {
  const created = member === undefined ? undefined : await listKeysCreatedBy(database, { accountId, personId: member });
  const keyIds = key === undefined ? created : created === undefined || created.includes(key) ? [key] : [];
  return {
    ...(keyIds === undefined ? {} : { keyIds }),
    ...(model === undefined ? {} : { model }),
    ...(outcome === undefined ? {} : { outcome }),
    labels: [...(tag === undefined ? [] : [readTagFilter(tag)]), ...(endUser === undefined ? [] : [readEndUserFilter(endUser)])],
  };
}

/** A page's query for it. */
export function filterQuery({ key, member, model, outcome, tag, endUser }: RequestFilter): Record<string, string> {
  return {
    ...(key === undefined ? {} : { key }),
    ...(member === undefined ? {} : { member }),
    ...(model === undefined ? {} : { model }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(tag === undefined ? {} : { tag }),
    ...(endUser === undefined ? {} : { end_user: endUser }),
  };
}
