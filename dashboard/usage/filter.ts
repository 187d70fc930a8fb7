import * as z from "zod";
import { readEndUserFilter, readTagFilter } from "../../contract/label-query.ts";
import { listKeysCreatedBy } from "../../ledger/keys/key-creators.ts";
import type { Reader } from "../../ledger/postgres/database.ts";
import { listKeysOfProject } from "../../ledger/projects/project-keys.ts";
import { OUTCOMES } from "../../ledger/settlement/settlement.ts";
import type { RequestListing } from "../../ledger/usage/request-list.ts";

/** How a request ended, as pages tell it. */
const REQUEST_STATUSES = [...OUTCOMES, "refused"] as const;
export type RequestStatus = (typeof REQUEST_STATUSES)[number];

/** A filter of an account's requests by key, model and status; undefined: all. */
export interface RequestFilter {
  /** Public id. */
  key: string | undefined;
  /** Id of the project that the key is in now. */
  project: string | undefined;
  /** Who created the key: the person's id. */
  member: string | undefined;
  model: string | undefined;
  outcome: RequestStatus | undefined;
  /** `team=search`. */
  tag: string | undefined;
  endUser: string | undefined;
}

/** A form sends an empty choice as "". */
function chosen<T extends z.ZodType<string>>(schema: T) {
  return z
    .literal("")
    .transform(() => undefined)
    .or(schema)
    .optional();
}

const filterShape = {
  key: chosen(z.string().regex(/^[0-9A-Za-z]{12}$/)),
  project: chosen(z.uuid()),
  member: chosen(z.uuid()),
  // Postgres rejects a NUL in a text.
  model: chosen(z.string().regex(/^[^\0]{1,128}$/)),
  outcome: chosen(z.enum(REQUEST_STATUSES)),
  tag: chosen(z.string().refine((text) => isReadable(() => readTagFilter(text)))),
  end_user: chosen(z.string().refine((text) => isReadable(() => readEndUserFilter(text)))),
};
const filterSchema = z.object(filterShape);
const lenientSchema = z.object({
  key: filterShape.key.catch(undefined),
  project: filterShape.project.catch(undefined),
  member: filterShape.member.catch(undefined),
  model: filterShape.model.catch(undefined),
  outcome: filterShape.outcome.catch(undefined),
  tag: filterShape.tag.catch(undefined),
  end_user: filterShape.end_user.catch(undefined),
});

/** The filter in a page's address; invalid parts are ignored. */
export function readFilter(query: unknown): RequestFilter {
  const { end_user: endUser, ...filter } = lenientSchema.parse(query ?? {});
  return withAll({ ...filter, endUser });
}

/** The same for a file, which must not become one of everything. @returns undefined if any part is invalid. */
export function readStrictFilter(query: unknown): RequestFilter | undefined {
  const { data } = filterSchema.safeParse(query ?? {});
  if (data === undefined) return undefined;
  const { end_user: endUser, ...filter } = data;
  return withAll({ ...filter, endUser });
}

function withAll({ key, project, member, model, outcome, tag, endUser }: Partial<RequestFilter>): RequestFilter {
  return { key, project, member, model, outcome, tag, endUser };
}

function isReadable(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

/** In the ledger's form. */
export async function listingOf(
  database: Reader,
  accountId: string,
  { key, project, member, model, outcome, tag, endUser }: RequestFilter,
): Promise<Pick<RequestListing, "keyIds" | "model" | "outcome" | "isRefused" | "labels">> {
  const [created, grouped] = await Promise.all([
    member === undefined ? undefined : listKeysCreatedBy(database, { accountId, personId: member }),
    project === undefined ? undefined : listKeysOfProject(database, { accountId, projectId: project }),
  ]);
  const keyIds = inAll(key === undefined ? undefined : [key], created, grouped);
  return {
    ...(keyIds === undefined ? {} : { keyIds }),
    ...(model === undefined ? {} : { model }),
    ...(outcome === undefined ? {} : endedAs(outcome)),
    labels: [...(tag === undefined ? [] : [readTagFilter(tag)]), ...(endUser === undefined ? [] : [readEndUserFilter(endUser)])],
  };
}

function endedAs(status: RequestStatus): Pick<RequestListing, "outcome" | "isRefused"> {
  if (status === "refused" || status === "complete") return { outcome: "complete", isRefused: status === "refused" };
  return { outcome: status };
}

/** The keys that are in each of the lists that there are; undefined without lists. */
function inAll(...lists: (readonly string[] | undefined)[]): string[] | undefined {
  const [first, ...others] = lists.filter((list) => list !== undefined).map((list) => new Set(list));
  return first === undefined ? undefined : [...first].filter((id) => others.every((other) => other.has(id)));
}

/** The filter as a page's query. */
export function filterQuery({ key, project, member, model, outcome, tag, endUser }: RequestFilter): Record<string, string> {
  return {
    ...(key === undefined ? {} : { key }),
    ...(project === undefined ? {} : { project }),
    ...(member === undefined ? {} : { member }),
    ...(model === undefined ? {} : { model }),
    ...(outcome === undefined ? {} : { outcome }),
    ...(tag === undefined ? {} : { tag }),
    ...(endUser === undefined ? {} : { end_user: endUser }),
  };
}
