/** JSON's escapes. Those of a quote or a line break are left as they are. */
const ESCAPES = /\\(?:u([0-9A-Fa-f]{4})|[^])/g;

/** A character and its longest form. */
export const ESCAPED_LENGTH = "\\u0041".length;

/**
 * The arguments of a call are JSON inside of a string: characters that are escaped there are what its tool gets. Servers in Python
 * escape all but ASCII.
 */
export function unescapeArguments(written: string): string {
  if (!written.includes("\\u")) return written;
  return written.replaceAll(ESCAPES, (escape: string, code: string | undefined) =>
    code === undefined ? escape : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
