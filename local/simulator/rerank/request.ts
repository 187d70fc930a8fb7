import * as z from "zod";
import { PromptError } from "../prompt.ts";

const document = z.union([z.string(), z.looseObject({ text: z.string() })]);

const rerankRequest = z.looseObject({
  model: z.string().min(1),
  query: z.string().min(1),
  documents: z.array(document).min(1),
  top_n: z.int().positive().nullish(),
  return_documents: z.boolean().nullish(),
});

export interface RerankRequest {
  model: string;
  query: string;
  documents: readonly string[];
  /** As many as there are documents if the client sets none. */
  topN: number;
  returnsDocuments: boolean;
}

/** @throws PromptError if the real servers answer 400. */
export function parseRerankRequest(body: unknown): RerankRequest {
  const result = rerankRequest.safeParse(body);
  if (!result.success) {
    const issue = result.error.issues[0];
    throw new PromptError(issue?.path.join(".") ?? "body", issue?.message ?? "not a request for a ranking");
  }
  const { model, query, documents, top_n: topN, return_documents: returnsDocuments } = result.data;
  return {
    model,
    query,
    documents: documents.map((each) => (typeof each === "string" ? each : each.text)),
    topN: topN ?? documents.length,
    returnsDocuments: returnsDocuments ?? false,
  };
}
