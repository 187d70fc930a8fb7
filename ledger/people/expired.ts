import type { Queryable } from "../postgres/database.ts";

/** Deletes expired data: sessions, invitations, resets, answered challenges, and failures that no longer count. */
export async function dropExpired(database: Queryable): Promise<void> {
  await database.execute(
    "DELETE FROM session WHERE last_seen_at < now() - interval '7 days' OR created_at < now() - interval '30 days'",
  );
  await database.execute("DELETE FROM invitation WHERE expires_at < now()");
  await database.execute("DELETE FROM password_reset WHERE expires_at < now()");
  await database.execute("DELETE FROM answered_challenge WHERE expires_at < now()");
  await database.execute("DELETE FROM sign_in_failure WHERE at < now() - interval '1 day'");
}
