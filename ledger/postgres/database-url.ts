import * as z from "zod";

const WANTED =
  "must be one address, such as postgresql://user:password@host:5432/database, of one host, with the special characters of its user, password and database percent-encoded";

/** What every program that uses Postgres reads from its environment. */
export const DATABASE_VARIABLES = {
  DATABASE_URL: z
    .string()
    .min(1, "must not be empty")
    .refine((url) => url === "" || isOneAddress(url), WANTED),
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

/** The driver takes anything for an address. Of several hosts, it connects to none, or to the last one, whichever is the primary. */
function isOneAddress(text: string): boolean {
  // A Unix socket.
  if (/^(?:socket:|\/)/.test(text)) return true;
  // A user without a host, which a parameter names: an address for the driver, and not for the standard.
  const url = URL.parse(text) ?? URL.parse(text.replace(/\/\/[^/]*@\//, "///"));
  if (url === null || !/^postgres(?:ql)?:$/.test(url.protocol)) return false;
  // `user:12#3@host`: the user becomes the host, and the password its port and a fragment, path or query.
  const hasPort = /^[^:]*:\/\/[^/?#@]*:\d*[/?#].*@/.test(text);
  const isCutOff = url.pathname.includes("@") || (url.username === "" && !url.searchParams.has("user") && hasPort);
  if (url.hash !== "" || isCutOff) return false;
  const hosts = url.searchParams.getAll("host");
  if (hosts.length === 0 && text.includes("@/")) return false;
  return hosts.length <= 1 && ![url.host, ...hosts].some((host) => host.includes(","));
}
