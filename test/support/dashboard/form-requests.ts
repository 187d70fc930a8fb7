import { formHeaders, writeForm, type FormPart } from "./forms.ts";
import type { TestProduct } from "../stacks/product.ts";

export interface FormRequest {
  path: string;
  apiKey?: string | undefined;
  signal?: AbortSignal | undefined;
  headers?: ReadonlyMap<string, string> | undefined;
}

/** Sends a form, or bytes in place of one. @returns the answer as soon as it begins. */
export async function askForm(
  { baseUrl, apiKey: ownKey }: TestProduct,
  form: readonly FormPart[] | Buffer,
  { path, apiKey = ownKey, signal, headers = formHeaders() }: FormRequest,
): Promise<{ response: Response; requestId: string }> {
  const body = Buffer.isBuffer(form) ? form : writeForm(form);
  const response = await fetch(baseUrl + path, {
    method: "POST",
    headers: { ...Object.fromEntries(headers), authorization: `Bearer ${apiKey}` },
    body: new Uint8Array(body),
    ...(signal === undefined ? {} : { signal }),
  });
  return { response, requestId: response.headers.get("x-request-id") ?? "" };
}

export interface FormAnswer {
  status: number;
  headers: Headers;
  text: string;
  requestId: string;
}

/** The same. @returns the whole answer. */
export async function postForm(
  stack: TestProduct,
  form: readonly FormPart[] | Buffer,
  request: FormRequest,
): Promise<FormAnswer> {
  const { response, requestId } = await askForm(stack, form, request);
  return { status: response.status, headers: response.headers, text: await response.text(), requestId };
}
