const MAX_BYTES = 256 * 1024;

/**
 * Like `fetch`, for providers: an answer is read up to a bound, within the time of its signal, and redirects are not followed.
 */
export async function boundedFetch(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, redirect: "manual" });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`the provider's answer exceeds ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  const { status, statusText, headers } = response;
  const hasBody = status !== 204 && status !== 205 && status !== 304;
  return new Response(hasBody ? Buffer.concat(chunks) : null, { status, statusText, headers });
}
