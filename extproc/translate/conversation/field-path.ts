import { GatewayError } from "../../../contract/errors.ts";

/**
 * A place in the client's request, stored with the value read there, so that an error raised far from the reading can still name
 * it.
 */
export interface FieldPath {
  readonly parent: FieldPath | null;
  /** A member's name, or an element's index. */
  readonly step: string | number;
}

export function fieldPath(name: string): FieldPath {
  return { parent: null, step: name };
}

export function below(parent: FieldPath, step: string | number): FieldPath {
  return { parent, step };
}

/** `messages[2].content`: the notation of every field in an error. */
export function pathText(path: FieldPath): string {
  const steps: string[] = [];
  for (let at: FieldPath | null = path; at !== null; at = at.parent) {
    if (at.parent === null) steps.push(String(at.step));
    else steps.push(typeof at.step === "number" ? `[${at.step}]` : `.${at.step}`);
  }
  return steps.toReversed().join("");
}

/** @param rest what is wrong and what to do instead: the error begins with the field. */
export function fieldError(path: FieldPath, rest: string, cause?: unknown): GatewayError {
  const field = pathText(path);
  return new GatewayError("invalid_request", `\`${field}\`${rest}`, { field, cause });
}
