import type * as z from "zod";

/**
 * Messages for rejected fields: each rule continues the sentence after the field's path, so that "spec.limits.contextWindow" and
 * "must be a whole number above 0" together say what to change.
 */
export function must(claim: string) {
  return {
    error: (issue: { readonly input?: unknown }) => (issue.input === undefined ? "is required" : `must ${claim}`),
  };
}

/** What a check in code finds. */
export interface Problem {
  path: string[];
  /** Continues the sentence after the field's path. */
  message: string;
}

/** The sentences of a failed parse, one per problem: `spec.backends[0].url must be …`. */
export function describeProblems(error: z.ZodError): string[] {
  return error.issues.flatMap((issue) => {
    const path = formatPath(issue.path);
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map(
        (key) => `${path === "" ? key : `${path}.${key}`} is not a known field; remove it or correct its spelling`,
      );
    }
    const claim = claimOf(issue);
    return [path === "" ? `the document ${claim}` : `${path} ${claim}`];
  });
}

/** Schemas without messages of their own (contract/profile.ts) have zod's. */
function claimOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_value" && issue.message.startsWith("Invalid")) return `must be one of ${issue.values.join(", ")}`;
  if (issue.code === "invalid_type" && issue.message.startsWith("Invalid")) return `must be ${issue.expected}`;
  return issue.message;
}

function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text === "" ? String(part) : `${text}.${String(part)}`;
  }, "");
}
