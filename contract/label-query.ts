import { GatewayError } from "./errors.ts";
import { END_USER, problemOfLabelValue, problemOfTagName, tagDimension, tagName, type Label } from "./labels.ts";

/**
 * How the APIs and the pages write labels: `tag=team=search`, `end_user=user-17`, `group_by=tag:team`.
 */

/** @throws GatewayError `invalid_request`. */
export function readTagFilter(text: string): Label {
  const at = text.indexOf("=");
  const name = text.slice(0, Math.max(0, at)).trim();
  const value = text.slice(at + 1).trim();
  if (at < 0 || problemOfTagName(name) !== undefined || problemOfLabelValue(value) !== undefined)
    throw new GatewayError("invalid_request", "`tag` must be a name and a value, such as `team=search`.", { field: "tag" });
  return { dimension: tagDimension(name), value };
}

/** @throws GatewayError `invalid_request`. */
export function readEndUserFilter(text: string): Label {
  const value = text.trim();
  const problem = problemOfLabelValue(value);
  if (problem !== undefined) throw new GatewayError("invalid_request", `\`end_user\` ${problem}.`, { field: "end_user" });
  return { dimension: END_USER, value };
}

/** The label whose usage is requested, if any. @throws GatewayError `invalid_request`. */
export function readLabel({ tag, endUser }: { tag?: string | undefined; endUser?: string | undefined }): Label | undefined {
  if (tag !== undefined && endUser !== undefined)
    throw new GatewayError("invalid_request", "Send `tag` or `end_user`, not both.", { field: "tag" });
  if (tag !== undefined) return readTagFilter(tag);
  return endUser === undefined ? undefined : readEndUserFilter(endUser);
}

/** The grouping of usage. @throws GatewayError `invalid_request`. */
export function readDimension(text: string): string {
  const name = tagName(text);
  if (text === END_USER || (name !== undefined && problemOfTagName(name) === undefined)) return text;
  throw new GatewayError(
    "invalid_request",
    "`group_by` must be `model`, `end_user`, or `tag:` and the name of a tag, such as `tag:team`.",
    { field: "group_by" },
  );
}
