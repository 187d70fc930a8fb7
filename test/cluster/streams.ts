/** Text and end of a stream that one of the two interfaces sends; whole if its last event came. */
export interface StreamedAnswer {
  status: number;
  text: string;
  isWhole: boolean;
}

interface Question {
  url: string;
  key: string;
  model: string;
  prompt: string;
  /** Called when the headers of the answer are there. */
  onBegun?: () => void;
}

/** What a client of chat completions gets. @throws Error if its connection breaks. */
export async function streamChat({ url, key, model, prompt, onBegun }: Question): Promise<StreamedAnswer> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, stream: true, messages: [{ role: "user", content: prompt }] }),
  });
  onBegun?.();
  const text = await response.text();
  return { status: response.status, text, isWhole: text.trimEnd().endsWith("data: [DONE]") };
}

/** What a client of messages gets. @throws Error if its connection breaks. */
export async function streamMessages({ url, key, model, prompt, onBegun }: Question): Promise<StreamedAnswer> {
  const response = await fetch(`${url}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": key, "anthropic-version": "2023-06-01", "content-type": "application/json" },
    body: JSON.stringify({ model, stream: true, max_tokens: 256, messages: [{ role: "user", content: prompt }] }),
  });
  onBegun?.();
  const text = await response.text();
  return { status: response.status, text, isWhole: text.includes('"type":"message_stop"') };
}

/** US dollars that the account has left, as nano-dollars. */
export async function readAvailable(url: string, key: string): Promise<bigint> {
  const response = await fetch(`${url}/v1/balance`, { headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  const [, amount = ""] = /"available":\s*"(\d+\.\d{9})"/.exec(text) ?? [];
  if (amount === "") throw new Error(`${response.status} ${text}`);
  return BigInt(amount.replace(".", ""));
}
