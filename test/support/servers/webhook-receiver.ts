import { once } from "node:events";
import http from "node:http";
import net, { type Server } from "node:net";
import { onTestFinished } from "vitest";
import * as z from "zod";
import { LOOPBACK } from "../../../local/process/ports.ts";

interface ReceivedEvent {
  body: string;
  headers: Record<string, string>;
}

export interface Receiver {
  received: ReceivedEvent[];
  url: string;
}

/** An endpoint of a customer's. @param statuses of its answers; the last one holds on. */
export async function startReceiver(...statuses: number[]): Promise<Receiver> {
  const received: ReceivedEvent[] = [];
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const headers = z.record(z.string(), z.string()).parse(request.headers);
      received.push({ body: Buffer.concat(chunks).toString(), headers });
      const status = statuses[Math.min(received.length, statuses.length) - 1] ?? 200;
      response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end();
    });
  });
  return { received, url: `${await listen(server)}hook` };
}

/** An endpoint that takes connections and never answers. */
export async function startSilentReceiver(): Promise<{ url: string; connections: () => number }> {
  let connections = 0;
  const server = net.createServer((socket) => {
    connections += 1;
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
  });
  return { url: await listen(server), connections: () => connections };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, LOOPBACK);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The endpoint has no port.");
  return `http://${LOOPBACK}:${address.port}/`;
}
