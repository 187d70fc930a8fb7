import { GatewayError } from "../../contract/errors.ts";

const MAX_CHARACTERS = 100;
/** Line breaks and similar characters, invisible marks, and marks that change the direction of the text after them. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]+/gu;
/** Text that mail programs turn into a link: a scheme, or words with a dot between them. "J. R. R." is not one. */
const LINK = /[a-z][a-z0-9+.-]*:\/\/|\bwww\.|[\p{L}\p{N}_-]\.[\p{L}][\p{L}\p{N}-]/iu;

/**
 * A name of a person or an account. We write names into letters to strangers: a name that is a sentence with a link would speak
 * to them in our name.
 * @throws GatewayError `invalid_request` with field `name`.
 */
export function checkPersonName(text: string): string {
  const name = text.trim();
  if (name === "" || name.length > MAX_CHARACTERS) throw wrong(`A name has 1 to ${MAX_CHARACTERS} characters.`);
  if (name.search(INVISIBLE) !== -1) throw wrong("A name must be one line without invisible characters.");
  if (LINK.test(name)) throw wrong("A name cannot contain a web address. Put a space after each dot.");
  return name;
}

/** The closest valid name to a text; for names that another service or an earlier version accepted. */
export function toPersonName(text: string): string {
  let name = text.replaceAll(INVISIBLE, " ").replaceAll(/:\/\//g, " ");
  while (LINK.test(name)) name = name.replace(LINK, (found) => found.replaceAll(".", " "));
  return name.replaceAll(/\s+/g, " ").trim().slice(0, MAX_CHARACTERS).trim();
}

function wrong(message: string): GatewayError {
  return new GatewayError("invalid_request", message, { field: "name" });
}
