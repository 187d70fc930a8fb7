import { RawJson } from "./raw.ts";
import { scanMembers } from "./scan.ts";

/** The members of a JSON object as written, the last one if a name is repeated; none for anything but an object. */
export function rawMembers(object: Buffer, without: readonly string[] = []): Record<string, RawJson> {
  const kept = scanMembers(object).filter(({ name }) => !without.includes(name));
  return Object.fromEntries(kept.map(({ name, value }) => [name, new RawJson(object.toString("utf8", value.start, value.end))]));
}
