import { GatewayError } from "../../contract/errors.ts";
import { explainMissingKey } from "./key-mistake.ts";

const HEADERS_WORDS = "as `Authorization: Bearer <key>` or `x-api-key: <key>`.";

/**
 * The single credential of a request, from either header on every interface (S3).
 * @param keysUrl the page for creating keys.
 * @throws GatewayError `invalid_api_key` if there is none, or two different ones.
 */
export function findCredential(headers: ReadonlyMap<string, string>, keysUrl: string): string {
  const bearer = readBearer(headers.get("authorization"));
  const apiKey = headers.get("x-api-key")?.trim() || undefined;
  if (bearer !== undefined && apiKey !== undefined && bearer !== apiKey) {
    throw new GatewayError(
      "invalid_api_key",
      "The request carries two different API keys, in `authorization` and in `x-api-key`. Send one of them.",
    );
  }
  const credential = bearer ?? apiKey;
  if (credential === undefined) {
    const found = explainMissingKey(headers);
    const reason = found === null ? "The request carries no API key." : `The request carries no API key. ${found}`;
    throw new GatewayError("invalid_api_key", `${reason} Create a key at ${keysUrl} and send it whole, ${HEADERS_WORDS}`);
  }
  return credential;
}

function readBearer(authorization: string | undefined): string | undefined {
  // An unset variable leaves the scheme alone, also beside a key in the other header.
  if (authorization === undefined || /^\s*(bearer\s*)?$/i.test(authorization)) return undefined;
  const match = /^bearer +(\S.*)$/i.exec(authorization.trim());
  if (match?.[1] === undefined)
    throw new GatewayError(
      "invalid_api_key",
      `The \`authorization\` header must have the form \`Bearer <key>\`. Send the key ${HEADERS_WORDS}`,
    );
  return match[1];
}
