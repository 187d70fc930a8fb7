import type { Gateway } from "./gateways/gateway.ts";
import { drive, type Driven, type Load } from "./load/drive.ts";
import type { Pair } from "./pairs.ts";
import { readUse } from "./processes.ts";
import { bodyOf, lastWords, type Workload } from "./workloads.ts";

/** One gateway under one load, once. */
export interface Round {
  driven: Driven;
  /** CPU a request by part, ms. */
  cpuMs: Readonly<Record<string, number>>;
  /** After the load, MiB. */
  memoryMiB: Readonly<Record<string, number>>;
  /** 0.99 of its event loop's delays, ms; null where it does not tell. */
  loopDelayMs: number | null;
}

export async function measure(
  program: string,
  gateway: Gateway,
  { workload, pair }: { workload: Workload; pair: Pair },
  signal?: AbortSignal,
): Promise<Round> {
  await gateway.loopDelayMs?.();
  const before = await usesOf(gateway);
  const driven = await drive(program, load(gateway, { workload, pair }), signal);
  await gateway.settled();
  const after = await usesOf(gateway);
  return {
    driven,
    cpuMs: mapValues(after, ({ cpuMs }, part) => (cpuMs - (before[part]?.cpuMs ?? 0)) / workload.requests),
    memoryMiB: mapValues(after, ({ memoryMiB }) => memoryMiB),
    loopDelayMs: (await gateway.loopDelayMs?.()) ?? null,
  };
}

/** The same load at a pace that every gateway keeps, so that delays can be compared. */
export function measurePaced(
  program: string,
  gateway: Gateway,
  { workload, pair }: { workload: Workload; pair: Pair },
  signal?: AbortSignal,
): Promise<Driven> {
  const seconds = 4;
  const rate = workload.rate ?? workload.requests / seconds;
  return drive(program, { ...load(gateway, { workload, pair }), requests: rate * seconds, connections: 64, rate }, signal);
}

/** @returns why this gateway cannot serve the pair; null where it can. */
export async function refusal(
  program: string,
  gateway: Gateway,
  at: { workload: Workload; pair: Pair },
  signal?: AbortSignal,
): Promise<string | null> {
  const { failures, failure } = await drive(program, { ...load(gateway, at), requests: 1, connections: 1 }, signal);
  return failures === 0 ? null : (failure ?? "unknown");
}

function load(gateway: Gateway, { workload, pair }: { workload: Workload; pair: Pair }): Load {
  const { connections, requests } = workload;
  return { ...gateway.target(pair), body: bodyOf(workload, pair), expect: lastWords(workload, pair), connections, requests };
}

async function usesOf(gateway: Gateway) {
  const entries = Object.entries(gateway.parts).map(async ([part, pid]) => [part, await readUse([pid])] as const);
  return Object.fromEntries(await Promise.all(entries));
}

function mapValues<From, To>(
  values: Readonly<Record<string, From>>,
  change: (value: From, name: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value, name)]));
}
