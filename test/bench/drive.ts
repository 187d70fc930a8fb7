import { Agent, request } from "node:http";

export interface Load {
  url: string;
  apiKey: string;
  body: string;
  requests: number;
  concurrency: number;
}

export interface Driven {
  perSecond: number;
  p50Ms: number;
}

/** A closed loop of `concurrency` connections; every answer must be 200. */
export async function drive(load: Load): Promise<Driven> {
  const agent = new Agent({ keepAlive: true, maxSockets: load.concurrency });
  const durationsMs: number[] = [];
  let left = load.requests;
  const worker = async () => {
    while (left-- > 0) {
      const startedMs = performance.now();
      await send(load, agent);
      durationsMs.push(performance.now() - startedMs);
    }
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: load.concurrency }, worker));
  const elapsedMs = performance.now() - startedMs;
  agent.destroy();
  durationsMs.sort((a, b) => a - b);
  return { perSecond: (load.requests / elapsedMs) * 1000, p50Ms: durationsMs[Math.floor(durationsMs.length / 2)] ?? 0 };
}

function send({ url, apiKey, body }: Load, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method: "POST",
      agent,
      headers: { "content-type": "application/json", "x-api-key": apiKey, "content-length": Buffer.byteLength(body) },
    });
    outgoing.on("response", (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url} answered ${response.statusCode}`));
      response.resume().on("end", resolve).on("error", reject);
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}
