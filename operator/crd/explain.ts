/** A rule in Kubernetes' expression language. */
export interface Rule {
  /** CEL; `self` is the value, `oldSelf` the one before. */
  rule: string;
  /** Reads on after the field's path. */
  message: string;
  /** The field of an object that the rule speaks of. */
  field?: string;
}

interface ApiServerOnly {
  /** What zod checks in code, or cannot check: a change. */
  rules?: readonly Rule[];
  /** How a list is merged and which entries are one: by value, or by a key. */
  list?: "set" | { key: string };
}

/** Metadata of a schema: what `kubectl explain` says, and what else only the API server reads (structural-schema.ts). */
export function explain(description: string, { rules = [], list }: ApiServerOnly = {}): Record<string, unknown> {
  return {
    description,
    ...(rules.length === 0 ? {} : { "x-kubernetes-validations": rules.map(encodeRule) }),
    ...(list === "set" ? { "x-kubernetes-list-type": "set" } : {}),
    ...(typeof list === "object" ? { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [list.key] } : {}),
  };
}

export function encodeRule({ rule, message, field }: Rule): Record<string, string> {
  return { rule, message, ...(field === undefined ? {} : { fieldPath: `.${field}` }) };
}

/** A pattern as CEL writes it. Only what JavaScript and RE2 both know may be in it. */
export function celPattern(pattern: RegExp): string {
  return JSON.stringify(pattern.source.replaceAll(String.raw`\/`, "/"));
}
