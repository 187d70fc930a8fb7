/** A rule in Kubernetes' expression language. */
export interface Rule {
  /** CEL; `self` is the value, `oldSelf` the one before. */
  rule: string;
  /** Continues the sentence after the field's path. */
  message: string;
  /** The object's field that the rule is about. */
  field?: string;
}

interface ApiServerOnly {
  /** Checks that zod makes in code, or cannot make: of a change. */
  rules?: readonly Rule[];
  /** How a list is merged and which entries are the same: by value, or by a key. */
  list?: "set" | { key: string };
}

/**
 * Metadata of a schema: the text of `kubectl explain`, and everything else that only the API server reads (structural-schema.ts).
 */
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

/** A pattern in CEL. It may contain only syntax that both JavaScript and RE2 support. */
export function celPattern(pattern: RegExp): string {
  return JSON.stringify(pattern.source.replaceAll(String.raw`\/`, "/"));
}
