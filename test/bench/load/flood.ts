import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import * as z from "zod";

/** A request that is sent again and again, whatever the answer. */
export interface FloodRequest {
  url: string;
  connections: number;
  headers?: Readonly<Record<string, string>>;
  /** Of a POST; a GET without. */
  body?: string;
  /** Path of a file of API keys, one a line, used in turn. */
  keysFile?: string;
}

const flooded = z.strictObject({
  /** Answers by status; 0 counts requests without an answer, or with one that broke off. */
  statuses: z.record(z.string(), z.int()),
  bytes: z.int(),
  seconds: z.number(),
  /** One body of each status that is an error. */
  samples: z.record(z.string(), z.string()),
});

export type Flooded = z.infer<typeof flooded>;

export interface Flood {
  stop(): Promise<Flooded>;
}

/** Floods from a process of its own, so that the measuring one is not slowed by it. */
export function startFlood(program: string, { url, connections, headers = {}, body, keysFile }: FloodRequest): Flood {
  const parameters = ["flood", "-url", url, "-connections", String(connections)];
  for (const [name, value] of Object.entries(headers)) parameters.push("-header", `${name}: ${value}`);
  if (body !== undefined) parameters.push("-body", body, "-header", "content-type: application/json");
  if (keysFile !== undefined) parameters.push("-keys", keysFile);
  const child = spawn(program, parameters, { stdio: ["pipe", "pipe", "inherit"] });
  const output = text(child.stdout);
  return {
    async stop() {
      child.stdin.end();
      return flooded.parse(JSON.parse(await output));
    },
  };
}
