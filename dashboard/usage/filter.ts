import * as z from "zod";
import { listKeysCreatedBy } from "../../ledger/keys/key-creators.ts";
import type { Reader } from "../../ledger/postgres/database.ts";
import { OUTCOMES, type Outcome } from "../../ledger/settlement/settlement.ts";

/** Which of an account's requests: those of a key, of a model, that ended so; undefined: all. */
export interface RequestFilter {
  /** Public id. */
  key: string | undefined;
  /** Who created the key: the person's id. */
  member: string | undefined;
  model: string | undefined;
  outcome: Outcome | undefined;
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
};
const filterSchema = z.object(filterShape);
const lenientSchema = z.object({
  key: filterShape.key.catch(undefined),
  member: filterShape.member.catch(undefined),
  model: filterShape.model.catch(undefined),
  outcome: filterShape.outcome.catch(undefined),
});

/** What a page's address asks for; what makes no sense in it counts as nothing. */
export function readFilter(query: unknown): RequestFilter {
  const { key, member, model, outcome } = lenientSchema.parse(query ?? {});
  return { key, member, model, outcome };
}

/** The same for a file, which must not become one of everything. @returns undefined for what makes no sense. */
export function readStrictFilter(query: unknown): RequestFilter | undefined {
  const { data } = filterSchema.safeParse(query ?? {});
  if (data === undefined) return undefined;
  const { key, member, model, outcome } = data;
  return { key, member, model, outcome };
}

/** As the ledger takes it. */
export async function listingOf(
  database: Reader,
  accountId: string,
  { key, member, model, outcome }: RequestFilter,
): Promise<{ keyIds?: readonly string[]; model?: string; outcome?: Outcome }> {
  const created = member === undefined ? undefined : await listKeysCreatedBy(database, { accountId, personId: member });
  const keyIds = key === undefined ? created : created === undefined || created.includes(key) ? [key] : [];
  return {
    ...(keyIds === undefined ? {} : { keyIds }),
    ...(model === undefined ? {} : { model }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}

/** A page's query for it. */
export function filterQuery({ key, member, model, outcome }: RequestFilter): Record<string, string> {
  return {
    ...(key === undefined ? {} : { key }),
    ...(member === undefined ? {} : { member }),
    ...(model === undefined ? {} : { model }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}
