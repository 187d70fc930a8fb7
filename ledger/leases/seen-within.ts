/**
 * As SQL: whether a process has reported, by `seen_at`, within an interval such as `5 seconds`. One that did so when Postgres' clock
 * was ahead has not: it would seem to be there until that time came.
 */
export function seenWithin(interval: string): string {
  return `seen_at BETWEEN clock_timestamp() - interval '${interval}' AND clock_timestamp() + interval '${interval}'`;
}
