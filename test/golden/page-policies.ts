import { toGatewayError } from "../../contract/errors.ts";
import type { Profile } from "../../contract/profile.ts";
import { rawMembers } from "../../extproc/protocol/json/raw-members.ts";
import type { Policy } from "../../extproc/translate/policy.ts";
import { code, markdownTable } from "../support/documents/markdown-table.ts";
import { exampleRequest, policiesOf, translateRequest, type PolicyDirection } from "../support/documents/policy-direction.ts";

const ACTIONS = { map: "mapped", emulate: "emulated", drop: "dropped", reject: "refused" } as const;

/** The table of a direction's top-level fields, each with what its example becomes. */
export function fieldTable(direction: PolicyDirection): string {
  const rows = policiesOf(direction, direction.fields).map((policy) => [
    code(policy.field),
    ACTIONS[policy.action],
    note(policy),
    code(JSON.stringify(policy.example)),
    outcome(direction, policy),
  ]);
  return markdownTable(["Field", "Policy", "Handling", "Example", "Sent upstream"], rows);
}

/** What the examples of a direction's fields become at a server of yet another protocol. */
export function fieldOutcomes(direction: PolicyDirection): string {
  const rows = policiesOf(direction, direction.fields)
    .filter(({ action }) => action === "map" || action === "emulate")
    .map((policy) => [code(policy.field), code(JSON.stringify(policy.example)), outcome(direction, policy)]);
  return markdownTable(["Field", "Example", "Sent upstream"], rows);
}

/** The table of what stands inside the fields. */
export function contentTable(direction: PolicyDirection): string {
  const rows = policiesOf(direction, direction.contents).map((policy) => [
    code(policy.field),
    ACTIONS[policy.action],
    note(policy),
  ]);
  return markdownTable(["Content", "Policy", "Handling"], rows);
}

/** What the examples of that table become: members of the client's request, and of the upstream's. */
export function contentExamples(direction: PolicyDirection): string {
  const shown = policiesOf(direction, direction.contents).filter(({ action }) => action !== "drop");
  const rows = shown.map((policy) => [
    code(policy.field),
    code(JSON.stringify(policy.example).slice(1, -1)),
    outcome(direction, policy),
  ]);
  return markdownTable(["Content", "Client sends", "Sent upstream"], rows);
}

function note({ field, note, droppedBy, lostTo = {}, refusedBy = {} }: Policy): string {
  const lost = Object.entries(lostTo).map(([protocol, reason]) => `; dropped and listed for ${protocol} servers: ${reason}`);
  const refused = Object.entries(refusedBy).map(([protocol, reason]) => `; refused for ${protocol} servers: ${reason}`);
  const dropped = droppedBy === undefined ? "" : `; dropped and listed if ${flagsText(droppedBy, field)}`;
  return [note, dropped, ...lost, ...refused].join("");
}

function flagsText(flags: Partial<Profile>, field: string): string {
  return Object.entries(flags)
    .map(([flag, value]) => flagText(flag, value, field))
    .join(" and ");
}

function flagText(flag: string, value: unknown, field: string): string {
  if (!Array.isArray(value)) return `${code(flag)} is ${code(typeof value === "string" ? value : JSON.stringify(value))}`;
  // An empty list is one that lacks the row's own field.
  return value.length === 0
    ? `${code(flag)} does not list ${code(field.split(".").at(-1) ?? field)}`
    : `${code(flag)} lists ${value.map(code).join(", ")}`;
}

function outcome(direction: PolicyDirection, policy: Policy): string {
  if (policy.action === "drop") return `nothing; ${code(policy.field)} is listed`;
  try {
    const { upstream, dropped } = translateRequest(direction, exampleRequest(direction, policy));
    if (dropped.includes(policy.field)) return `nothing; ${code(policy.field)} is listed`;
    return changes(direction, upstream.body);
  } catch (thrown) {
    const { status, field } = toGatewayError(thrown);
    return `${status}, naming ${code(field ?? "")}`;
  }
}

/** The members of the upstream's request that differ from those of the plain one, as they are written. */
function changes(direction: PolicyDirection, body: Buffer): string {
  const plain = rawMembers(translateRequest(direction, direction.plain).upstream.body);
  const changed = Object.entries(rawMembers(body)).filter(([name, { text }]) => plain[name]?.text !== text);
  const texts = changed.map(([name, { text }]) => `"${name}":${text}`);
  return texts.length === 0 ? "nothing beyond the plain request" : code(texts.join(","));
}
