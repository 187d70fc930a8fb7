import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import * as z from "zod";

export interface Load {
  url: string;
  /** A value `@file` is read from there, as keys should be. */
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Text that every whole answer holds. */
  expect: string;
  requests: number;
  connections: number;
  /** Requests a second; a closed loop where absent. */
  rate?: number;
}

const spread = z.strictObject({ p50: z.number(), p99: z.number() });
const driven = z.strictObject({
  requests: z.int(),
  failures: z.int(),
  failure: z.string().optional(),
  seconds: z.number(),
  perSecond: z.number(),
  wholeMs: spread,
  firstByteMs: spread,
});

/** What one run of the driver measured. */
export type Driven = z.infer<typeof driven>;

/** @param signal ends it. */
export async function drive(program: string, load: Load, signal?: AbortSignal): Promise<Driven> {
  const parameters = Object.entries({
    url: load.url,
    requests: load.requests,
    connections: load.connections,
    rate: load.rate ?? 0,
    expect: load.expect,
  }).flatMap(([name, value]) => [`-${name}`, String(value)]);
  const headers = Object.entries({ "content-type": "application/json", ...load.headers }).flatMap(([name, value]) => [
    "-header",
    `${name}: ${value}`,
  ]);
  const child = spawn(program, ["drive", ...parameters, ...headers], {
    stdio: ["pipe", "pipe", "inherit"],
    ...(signal === undefined ? {} : { signal }),
  });
  const failed = new Promise<never>((_resolve, reject) => child.once("error", reject));
  // One that is ended early leaves a long body unread.
  child.stdin.on("error", () => {});
  child.stdin.end(load.body);
  return driven.parse(JSON.parse(await Promise.race([text(child.stdout), failed])));
}
