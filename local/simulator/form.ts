import { PromptError } from "./prompt.ts";

type Form = Awaited<ReturnType<Response["formData"]>>;

/** @throws PromptError if the real servers answer 400. */
export async function readForm(body: Buffer, contentType: string): Promise<Form> {
  try {
    return await new Response(new Uint8Array(body), { headers: { "content-type": contentType } }).formData();
  } catch {
    throw new PromptError("body", "not a form");
  }
}

/** "" if there is none. */
export function textOf(form: Form, name: string): string {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
}
