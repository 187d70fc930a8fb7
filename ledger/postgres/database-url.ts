import * as z from "zod";

/** What every program that uses Postgres reads from its environment. */
export const DATABASE_VARIABLES = {
  DATABASE_URL: z.string().min(1),
  /** File with the only authorities that may have signed the server's certificate, as libpq reads it. */
  PGSSLROOTCERT: z.string().min(1).optional(),
};

type DatabaseEnvironment = z.infer<z.ZodObject<typeof DATABASE_VARIABLES>>;

/**
 * The database's address, with the authorities: node-postgres takes them from nowhere else. The address's own take precedence.
 */
export function databaseUrl({ DATABASE_URL: url, PGSSLROOTCERT: file }: DatabaseEnvironment): string {
  if (file === undefined || /[?&]sslrootcert=/.test(url)) return url;
  return `${url}${url.includes("?") ? "&" : "?"}sslrootcert=${encodeURIComponent(file)}`;
}
