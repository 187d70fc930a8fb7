const PROMPT_BYTES = 4 * 1024 * 1024;
const WORD = "word ";

const LONG_PROMPT = WORD.repeat(PROMPT_BYTES / WORD.length);

/** Asks for a slow stream with a prompt of 4 MiB; resolves with its headers. */
export async function askLong(target: { baseUrl: string; apiKey: string }, { tokens }: { tokens: number }): Promise<Response> {
  return await fetch(`${target.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${target.apiKey}` },
    body: JSON.stringify({
      model: "modelx-v4-flash",
      stream: true,
      max_tokens: tokens,
      messages: [{ role: "user", content: `${LONG_PROMPT}[[sim tokens=${tokens} chunk-ms=100]]` }],
    }),
  });
}
