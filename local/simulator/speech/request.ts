import * as z from "zod";
import { PromptError } from "../prompt.ts";

const speechRequest = z.looseObject({
  model: z.string().min(1),
  input: z.string().min(1),
  voice: z.union([z.string().min(1), z.object({ id: z.string() })]),
  response_format: z.string().nullish(),
  stream_format: z.enum(["audio", "sse"]).nullish(),
});

export interface SpeechRequest {
  /** It may have a directive, which is not spoken. */
  input: string;
  /** Samples without a file's header. */
  isPcm: boolean;
  hasEvents: boolean;
}

/** @throws PromptError if the real servers answer 400. */
export function parseSpeechRequest(body: unknown): SpeechRequest {
  const result = speechRequest.safeParse(body);
  if (!result.success) {
    const issue = result.error.issues[0];
    throw new PromptError(issue?.path.join(".") ?? "body", issue?.message ?? "not a request for speech");
  }
  const { input, response_format: format, stream_format: streamFormat } = result.data;
  return { input, isPcm: format === "pcm", hasEvents: streamFormat === "sse" };
}
