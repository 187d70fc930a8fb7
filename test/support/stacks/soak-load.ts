const AT_ONCE = 64;

interface Target {
  baseUrl: string;
  apiKey: string;
}

/** Whole and streamed answers, of all four pairs of protocols in turn. @returns how many ended in which way. */
export async function soak(target: Target, { requests, streams }: { requests: number; streams: number }) {
  const whole = await repeat(requests, (index) => ask(target, index, false));
  const streamed = await repeat(streams, (index) => ask(target, index, true));
  return { whole: countBy(whole), streamed: countBy(streamed) };
}

async function ask({ baseUrl, apiKey }: Target, index: number, isStream: boolean): Promise<string> {
  const path = index % 2 === 0 ? "/v1/chat/completions" : "/v1/messages";
  const model = index % 4 < 2 ? "modelx-v4-pro" : "modelx-v4-flash";
  const response = await fetch(baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, max_tokens: 64, stream: isStream, messages: [{ role: "user", content: `Request ${index}.` }] }),
  });
  const text = await response.text();
  if (!isStream) return String(response.status);
  const hasEnded = text.endsWith("data: [DONE]\n\n") || text.includes("event: message_stop\n");
  return `${response.status}${hasEnded ? " ended" : " cut"}`;
}

async function repeat(times: number, work: (index: number) => Promise<string>): Promise<string[]> {
  const results: string[] = [];
  let next = 0;
  const worker = async () => {
    while (next < times) results.push(await work(next++));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

function countBy(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}
