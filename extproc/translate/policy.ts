import type { Profile } from "../../contract/profile.ts";
import type { Protocol } from "../../contract/protocol.ts";

/**
 * The treatment of one field, or of content inside a field, on its way to an upstream of the other protocol. The translators read
 * the tables of both directions, the tests try them and docs/translation.md shows them.
 */
export interface Policy<Field extends string = string> {
  readonly field: Field;
  /**
   * "map": the same meaning in the other protocol. "emulate": the meaning by other means. "drop": omitted, named in
   * `x-gateway-dropped`. "reject": a 400 that names the field, because omitting it would change the answer (S21).
   */
  readonly action: "map" | "emulate" | "drop" | "reject";
  /** In one line of prose: what it becomes, or why it is dropped or rejected. */
  readonly note: string;
  /** A value that the action applies to; for content inside fields, the request's members that hold it. */
  readonly example: unknown;
  /** Values that request nothing: neither named nor rejected. Null and an empty array always count as such. */
  readonly neutral?: readonly unknown[];
  /** Profile flags of servers that do not accept it: for them it is omitted and named. */
  readonly droppedBy?: Partial<Profile>;
  /** Protocols without an equivalent, and why it can be omitted there; it is named. */
  readonly lostTo?: Partial<Readonly<Record<Protocol, string>>>;
  /** Protocols without an equivalent, where omitting it would change the answer, and what to do instead. */
  readonly refusedBy?: Partial<Readonly<Record<Protocol, string>>>;
}

/** The policy for servers of one protocol. */
export function policyFor(policy: Policy, upstream: Protocol): Policy {
  const { droppedBy: _, lostTo, refusedBy, ...rest } = policy;
  const loss = lostTo?.[upstream];
  if (loss !== undefined) return { ...rest, action: "drop", note: loss };
  const refusal = refusedBy?.[upstream];
  return refusal === undefined ? policy : { ...rest, action: "reject", note: refusal };
}

export interface PolicyOptions {
  neutral?: readonly unknown[];
  droppedBy?: Partial<Profile>;
  lostTo?: Partial<Readonly<Record<Protocol, string>>>;
  refusedBy?: Partial<Readonly<Record<Protocol, string>>>;
}

export function map<const Field extends string>(
  field: Field,
  note: string,
  example: unknown,
  options: PolicyOptions = {},
): Policy<Field> {
  return { field, action: "map", note, example, ...options };
}

export function emulate<const Field extends string>(
  field: Field,
  note: string,
  example: unknown,
  options: PolicyOptions = {},
): Policy<Field> {
  return { field, action: "emulate", note, example, ...options };
}

export function drop<const Field extends string>(
  field: Field,
  note: string,
  example: unknown,
  neutral: readonly unknown[] = [],
): Policy<Field> {
  return { field, action: "drop", note, example, neutral };
}

export function reject<const Field extends string>(
  field: Field,
  note: string,
  example: unknown,
  neutral: readonly unknown[] = [],
): Policy<Field> {
  return { field, action: "reject", note, example, neutral };
}
