import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { MAX_ORIGIN_CHARACTERS, parseWebOrigin } from "../../runtime/web-origin.ts";

/** The origins of a key, as people and programs write them; a sentence for each that is wrong. */
export const originsSchema = z
  .array(z.string("Must be a string.").trim().superRefine(checkOrigin))
  .max(ACCOUNT_BOUNDS.originsOfKey, `At most ${ACCOUNT_BOUNDS.originsOfKey} origins.`);

function checkOrigin(text: string, context: z.RefinementCtx<string>): void {
  const message = problemOf(text);
  if (message !== null) context.addIssue({ code: "custom", message });
}

function problemOf(text: string): string | null {
  const parsed = parseWebOrigin(text);
  const shown = JSON.stringify(text.slice(0, MAX_ORIGIN_CHARACTERS));
  switch (parsed.kind) {
    case "origin":
      return null;
    case "page":
      return `${shown} is more than an origin. Use ${parsed.origin}, which covers all of its pages.`;
    case "no origin":
      return `${shown} is not an origin such as https://app.example.com or http://localhost:5173.`;
  }
}

/** Each in its canonical form, once; null if there are none. */
export function normalOrigins(texts: readonly string[]): string[] | null {
  const origins = texts.flatMap((text) => {
    const parsed = parseWebOrigin(text);
    return parsed.kind === "origin" ? [parsed.origin] : [];
  });
  return origins.length === 0 ? null : [...new Set(origins)];
}
