import * as z from "zod";
import { OTHER, type OrOther } from "../../../ledger/postgres/known-or-other.ts";

/** Names in an answer; `other` stands for those of a newer version. */
export function orOther<const Name extends string>(names: readonly Name[]): z.ZodType<OrOther<Name>> {
  return z.enum([...names, OTHER]).meta({ description: "`other`: one that this version of the service does not know" });
}
