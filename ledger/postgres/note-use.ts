import type { Queryable } from "./database.ts";
import { isReadOnly } from "./postgres-error.ts";

/** Writes down when something was last used. A database that only reads does not keep that, and is no reason to refuse its user. */
export async function noteUse(database: Queryable, text: string, values: readonly unknown[]): Promise<void> {
  try {
    await database.execute(text, values);
  } catch (error) {
    if (!isReadOnly(error)) throw error;
  }
}
