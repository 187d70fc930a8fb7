import { USER_SCHEMA } from "./user-resource.ts";

const SCHEMA_PREFIX = `${USER_SCHEMA.toLowerCase()}:`;

/** In lower case, without the schema's name and without a selection of entries: `emails[type eq "work"].value` is `emails.value`. */
export function attributeOf(path: string): string {
  const lower = path.trim().toLowerCase();
  const attribute = lower.startsWith(SCHEMA_PREFIX) ? lower.slice(SCHEMA_PREFIX.length) : lower;
  // There is one entry in each list here.
  const from = attribute.indexOf("[");
  const to = attribute.indexOf("]", from);
  return from === -1 || to === -1 ? attribute : attribute.slice(0, from) + attribute.slice(to + 1);
}
