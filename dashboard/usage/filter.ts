import * as z from "zod";
import { OUTCOMES, type Outcome } from "../../ledger/settlement/settlement.ts";

/** Which of an account's requests: those of a key, of a model, that ended so; undefined: all. */
export interface RequestFilter {
  /** Public id. */
  key: string | undefined;
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
  // Postgres takes no NUL in a text.
  model: chosen(z.string().regex(/^[^\0]{1,128}$/)),
  outcome: chosen(z.enum(OUTCOMES)),
};
const filterSchema = z.object(filterShape);
const lenientSchema = z.object({
  key: filterShape.key.catch(undefined),
  model: filterShape.model.catch(undefined),
  outcome: filterShape.outcome.catch(undefined),
});

/** What a page's address asks for; what makes no sense in it counts as nothing. */
export function readFilter(query: unknown): RequestFilter {
  const { key, model, outcome } = lenientSchema.parse(query ?? {});
  return { key, model, outcome };
}

/** The same for a file, which must not become one of everything. @returns undefined for what makes no sense. */
export function readStrictFilter(query: unknown): RequestFilter | undefined {
  const { data } = filterSchema.safeParse(query ?? {});
  return data === undefined ? undefined : { key: data.key, model: data.model, outcome: data.outcome };
}

/** As the ledger takes it. */
export function listingOf({ key, model, outcome }: RequestFilter): { keyId?: string; model?: string; outcome?: Outcome } {
  return {
    ...(key === undefined ? {} : { keyId: key }),
    ...(model === undefined ? {} : { model }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}

/** A page's query for it. */
export function filterQuery({ key, model, outcome }: RequestFilter): Record<string, string> {
  return {
    ...(key === undefined ? {} : { key }),
    ...(model === undefined ? {} : { model }),
    ...(outcome === undefined ? {} : { outcome }),
  };
}
