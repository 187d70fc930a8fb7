import { GatewayError } from "../../contract/errors.ts";
import { LABEL_BOUNDS, problemOfLabelValue, problemOfTagName, TAGS_HEADER } from "../../contract/labels.ts";
import { looksLikeSecret } from "./secret-forms.ts";

/**
 * Reads `team=search, env=prod`. Header bytes come as Latin-1; what people send is UTF-8.
 * @throws GatewayError `invalid_request` that names the header and the tag's number; nothing of its text is repeated.
 */
export function parseTagsHeader(header: string): { name: string; value: string }[] {
  const text = Buffer.from(header, "latin1").toString("utf8");
  if (text.trim() === "") return [];
  const parts = text.split(",").filter((part) => part.trim() !== "");
  if (parts.length > LABEL_BOUNDS.tagsOfRequest) throw refuse(`has more than ${LABEL_BOUNDS.tagsOfRequest} tags. Send fewer`);
  const seen = new Set<string>();
  return parts.map((part, index) => {
    const which = `tag ${index + 1}`;
    const at = part.indexOf("=");
    if (at < 0) throw refuse(`has no \`=\` in ${which}. Send tags as \`team=search, env=prod\``);
    const name = part.slice(0, at).trim();
    const value = part.slice(at + 1).trim();
    const wrongName = problemOfTagName(name);
    if (wrongName !== undefined) throw refuse(`has a name in ${which} that ${wrongName}. Send tags as \`team=search, env=prod\``);
    const wrongValue = problemOfLabelValue(value);
    if (wrongValue !== undefined)
      throw refuse(`has a value in ${which} that ${wrongValue}. Send 1 to ${LABEL_BOUNDS.value} printable characters`);
    if (looksLikeSecret(value))
      throw refuse(`has a value in ${which} that looks like a credential. It is not stored. Leave it out`);
    if (seen.has(name)) throw refuse(`names the same tag twice, the second time in ${which}. Send it once`);
    seen.add(name);
    return { name, value };
  });
}

function refuse(sentence: string): GatewayError {
  return new GatewayError("invalid_request", `The header \`${TAGS_HEADER}\` ${sentence}.`, { field: TAGS_HEADER });
}
