import * as z from "zod";

/** A Secret's `data`: values by key, in base64. A record of zod leaves out `__proto__`, which Kubernetes takes as a key. */
export const secretData = z
  .unknown()
  .optional()
  .transform((data) => {
    const entries: [string, unknown][] = Object.entries(data ?? {});
    return new Map(entries.flatMap(([key, value]) => (typeof value === "string" ? [[key, value] as const] : [])));
  });

export function decodeValue(value: string): string {
  return Buffer.from(value, "base64").toString("utf8");
}
