import * as z from "zod";

const text = z.string().nullish().catch(null);
const index = z.int().nonnegative().nullish().catch(null);

const citationSchema = z.object({ url: z.string().min(1), title: text, start_index: index, end_index: index });
/** Some servers write its members next to the type. */
const annotationSchema = z.union([
  z.object({ type: z.literal("url_citation"), url_citation: citationSchema }).transform((annotation) => annotation.url_citation),
  citationSchema.extend({ type: z.literal("url_citation") }),
]);

/** A web page that the answer's text cites. */
export interface Annotation {
  url: string;
  title: string | null;
  /** In the message's content; null if the server does not report it. */
  range: { start: number; end: number } | null;
}

/** The citations of web pages among a message's `annotations`; others have no counterpart. */
export function readAnnotations(annotations: unknown): Annotation[] {
  return Array.isArray(annotations) ? annotations.flatMap(readAnnotation) : [];
}

function readAnnotation(annotation: unknown): Annotation[] {
  const parsed = annotationSchema.safeParse(annotation).data;
  if (parsed === undefined) return [];
  const { url, title, start_index: start, end_index: end } = parsed;
  const range = typeof start === "number" && typeof end === "number" && start < end ? { start, end } : null;
  return [{ url, title: title ?? null, range }];
}
