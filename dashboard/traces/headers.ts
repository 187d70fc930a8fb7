import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import type { TraceHeader } from "../../ledger/traces/destinations.ts";

const MAX_NAME = 100;
const MAX_VALUE = 4_000;

/** Set for each batch, or changed on the way by proxies. */
const OWN =
  /^(accept-encoding|connection|content-.*|date|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|user-agent|via)$/;

/** Names in any case. None of the messages repeats a value. */
export const traceHeaders = z.array(z.tuple([z.string(), z.string()])).transform((pairs, context): TraceHeader[] => {
  const headers = pairs.map(([name, value]) => [name.trim().toLowerCase(), value.trim()] as const);
  const problem = problemOf(headers);
  if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
  return headers;
});

function problemOf(headers: readonly TraceHeader[]): string | undefined {
  const max = ACCOUNT_BOUNDS.headersOfTraceDestination;
  if (headers.length > max) return `A destination can have at most ${max} headers.`;
  const names = headers.map(([name]) => name);
  const wrong = names.find((name) => name.length > MAX_NAME || !/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name));
  if (wrong !== undefined)
    return "A header name contains only letters, digits and hyphens. Enter one header per line, as “name: value”.";
  const own = names.find((name) => OWN.test(name));
  if (own !== undefined) return `The gateway sets ${own} itself. Leave it out.`;
  const repeated = names.find((name, index) => names.indexOf(name) < index);
  if (repeated !== undefined) return `The header ${repeated} appears twice.`;
  const [bad] = headers.find(([, value]) => value.length > MAX_VALUE || !/^[\x20-\x7e]+$/.test(value)) ?? [];
  return bad === undefined
    ? undefined
    : `The value of ${bad} must have 1 to ${MAX_VALUE} ASCII characters: letters, digits, spaces and punctuation.`;
}

/** Lines of a form. */
export const headerLines = z
  .string()
  .transform((text) =>
    text
      .split(/\r?\n/)
      .filter((line) => line.trim() !== "")
      .map((line): [string, string] => {
        const colon = line.indexOf(":");
        return colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1)];
      }),
  )
  .pipe(traceHeaders);

/** Basic authentication with the keys of a Langfuse project. */
export function langfuseCredentials({ publicKey, secretKey }: { publicKey: string; secretKey: string }): TraceHeader[] {
  return [["authorization", `Basic ${Buffer.from(`${publicKey}:${secretKey}`).toString("base64")}`]];
}
