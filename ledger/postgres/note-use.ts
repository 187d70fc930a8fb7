import type { Queryable } from "./database.ts";
import { isReadOnly } from "./postgres-error.ts";

/** As SQL: its transaction waits neither for the disk nor for a standby, which may not answer. */
const IS_QUICK = "(SELECT set_config('synchronous_commit', 'off', true)) = 'off'";

/**
 * Writes down when something was last used. A database that only reads, or crashes a moment later, does not keep that, and is no
 * reason to refuse its user or to let them wait.
 * @param text an UPDATE that ends with its conditions.
 */
export async function noteUse(database: Queryable, text: string, values: readonly unknown[]): Promise<void> {
  try {
    await database.execute(`${text} AND ${IS_QUICK}`, values);
  } catch (error) {
    if (!isReadOnly(error)) throw error;
  }
}
