import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * A process of its own, so that the measuring one is not slowed by it: so many streams at once, each begun again when it ends,
 * or after the time that a refusal names. Settings: URL, KEY, STREAMS, in that order.
 */
const [url = "", key = "", streams = "1"] = process.argv.slice(2);
const body = JSON.stringify({
  model: "modelx-v4-pro",
  max_tokens: 200,
  stream: true,
  messages: [{ role: "user", content: "Flood. [[sim tokens=100 chunk-ms=20]]" }],
});

async function flood(): Promise<never> {
  for (;;) {
    const response = await fetch(url, { method: "POST", headers: { authorization: `Bearer ${key}` }, body });
    await response.text();
    if (response.status !== 200) await sleep(1000 * Number(response.headers.get("retry-after") ?? "1"));
  }
}

await Promise.all(Array.from({ length: Number(streams) }, flood));
