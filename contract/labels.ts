import { isPrintable } from "./printable.ts";

/**
 * Attributes of a request for its account's reports: tags and an end user, if the account keeps them (docs/decisions/0068).
 * A request has at most one label in each dimension.
 */
export interface Label {
  /** `end_user`, or `tag:` and the tag's name. */
  dimension: string;
  value: string;
}

export const END_USER = "end_user";
const TAG = "tag:";

export function tagDimension(name: string): string {
  return TAG + name;
}

/** @returns the tag's name; undefined for the end user. */
export function tagName(dimension: string): string | undefined {
  return dimension.startsWith(TAG) ? dimension.slice(TAG.length) : undefined;
}

/** In their own order. */
export function tagsIn(labels: readonly Label[]): { name: string; value: string }[] {
  return labels.flatMap(({ dimension, value }) => {
    const name = tagName(dimension);
    return name === undefined ? [] : [{ name, value }];
  });
}

export function endUserIn(labels: readonly Label[]): string | undefined {
  return labels.find(({ dimension }) => dimension === END_USER)?.value;
}

/** As the APIs show them. */
export function describeLabels(labels: readonly Label[]): { tags: Record<string, string>; end_user: string | null } {
  return {
    tags: Object.fromEntries(tagsIn(labels).map(({ name, value }) => [name, value])),
    end_user: endUserIn(labels) ?? null,
  };
}

/** The request header that carries tags: `team=search, env=prod`. Envoy lets it through to extproc, which does not forward it. */
export const TAGS_HEADER = "x-gateway-tags";

/** Lengths in UTF-16 units, which are characters except for emoji and the like; docs/api.md has the same numbers. */
export const LABEL_BOUNDS = {
  tagsOfRequest: 16,
  tagName: 64,
  value: 256,
  /** All labels of a request together, in bytes. */
  bytesOfRequest: 4_096,
  /** Distinct values of an account in a UTC day: of all its tags together, and of end users. Further ones count as "other". */
  valuesADay: 2_000,
  /** How long they are kept, unless usage itself is kept for less. */
  keptDays: 400,
} as const;

/** @returns why a text is not a valid tag name, as the end of a sentence; undefined if it is valid. */
export function problemOfTagName(name: string): string | undefined {
  if (name === "") return "is empty";
  if (name.length > LABEL_BOUNDS.tagName) return `has more than ${LABEL_BOUNDS.tagName} characters`;
  if (/[=,]/.test(name)) return "has a comma or an equals sign";
  return isPrintable(name) ? undefined : "has a control character";
}

/** @returns why a text is not a valid label value, as the end of a sentence; undefined if it is valid. */
export function problemOfLabelValue(value: string): string | undefined {
  if (value === "") return "is empty";
  if (value.length > LABEL_BOUNDS.value) return `has more than ${LABEL_BOUNDS.value} characters`;
  return isPrintable(value) ? undefined : "has a control character";
}
