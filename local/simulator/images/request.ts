import * as z from "zod";
import { readForm } from "../form.ts";
import { PromptError } from "../prompt.ts";

const imageRequest = z.looseObject({
  model: z.string().min(1),
  prompt: z.string().min(1),
  n: z.int().min(1).max(10).nullish(),
  size: z.string().nullish(),
  quality: z.string().nullish(),
  response_format: z.enum(["url", "b64_json"]).nullish(),
});

export interface ImageRequest {
  prompt: string;
  /** Of an edit. */
  pictures: number;
  count: number;
  size: string;
  quality: string;
  isByUrl: boolean;
}

/** @throws PromptError if the real servers answer 400. */
export function parseImageRequest(body: unknown): ImageRequest {
  const result = imageRequest.safeParse(body);
  if (!result.success) {
    const issue = result.error.issues[0];
    throw new PromptError(issue?.path.join(".") ?? "body", issue?.message ?? "not a request for images");
  }
  const { prompt, n, size, quality, response_format: format } = result.data;
  return {
    prompt,
    pictures: 0,
    count: n ?? 1,
    size: chosen(size, "1024x1024"),
    quality: chosen(quality, "medium"),
    isByUrl: format === "url",
  };
}

/** An edit, in OpenAI's form. @throws PromptError if the real servers answer 400. */
export async function parseImageEdit(body: Buffer, contentType: string): Promise<ImageRequest> {
  const form = await readForm(body, contentType);
  const fields = [...form].filter(([, value]) => typeof value === "string");
  const { n, ...texts } = Object.fromEntries(fields);
  const pictures = [...form.getAll("image"), ...form.getAll("image[]")].filter((value) => value instanceof File).length;
  if (pictures === 0) throw new PromptError("image", "a file is required");
  return { ...parseImageRequest({ ...texts, ...(n === undefined ? {} : { n: Number(n) }) }), pictures };
}

function chosen(asked: string | null | undefined, usual: string): string {
  return asked === null || asked === undefined || asked === "auto" ? usual : asked;
}
