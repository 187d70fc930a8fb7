import type { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { PROTOCOLS } from "../../contract/protocol.ts";
import { below, pick, type Random } from "../support/random.ts";
import { createCaller, type Manner, type Seen } from "./caller.ts";
import { chooseModel } from "./models.ts";
import type { Question } from "./question.ts";
import { HUGE, NO_FAULT, UPSTREAM_FAULTS, type Result, type SLOW, type UpstreamFault } from "./upstream-faults.ts";

/** One request and what its caller saw. */
export interface Asked {
  question: Question;
  fault: UpstreamFault;
  manner: Manner;
  /** Another backend is behind the one that fails. */
  hasSpare: boolean;
  /** Its account may run out of credit. */
  isThin: boolean;
  seen: Seen;
}

export interface Customer {
  apiKey: string;
  /** Its credit is about to run out. */
  isThin: boolean;
  /** Requests at once. */
  workers: number;
  /** Where it asks, if not where the others do. */
  baseUrl?: string;
  /** Of an answer. */
  maxWords?: number;
}

export interface Load {
  readonly asked: readonly Asked[];
  /** Until the signal aborts; what runs then is waited for. */
  run(signal: AbortSignal, only?: typeof NO_FAULT | typeof SLOW, by?: readonly Customer[]): Promise<void>;
}

export interface LoadOptions {
  baseUrl: string;
  customers: readonly Customer[];
  random: Random;
  /** How a worker connects, where not as usual. */
  createAgent?: () => Agent;
}

/** A huge answer comes in large pieces, and one that is on its way may pass an account's bound (docs/billing.md). */
const SMALL = UPSTREAM_FAULTS.filter(({ name }) => name !== HUGE);
const USUAL_WORDS = 60;
const MAX_PAUSE_MS = 40;
/** As SDKs do. */
const MAX_PAUSE_AFTER_FAILURE_MS = 400;

export function createLoad({ baseUrl, customers, random, createAgent }: LoadOptions): Load {
  const asked: Asked[] = [];
  let number = 0;

  async function askOne(caller: ReturnType<typeof createCaller>, customer: Customer, only?: string): Promise<Result> {
    const fault =
      UPSTREAM_FAULTS.find(({ name }) => name === only) ?? pickWeighted(random, customer.isThin ? SMALL : UPSTREAM_FAULTS);
    const { model, hasSpare } = chooseModel(random, fault.name);
    const question: Question = {
      number: (number += 1),
      interface: pick(random, PROTOCOLS),
      isStream: random() < 0.6,
      model,
      fault: fault.name,
      words: fault.name === HUGE ? 100_000 : 4 + below(random, customer.maxWords ?? USUAL_WORDS),
    };
    const manner = fault.name === NO_FAULT || fault.name === HUGE ? pickManner(random) : "reads on";
    const { apiKey, isThin } = customer;
    const seen = await caller.ask(question, { apiKey, manner });
    asked.push({ question, fault, manner, hasSpare, isThin, seen });
    return seen.result;
  }

  async function work(signal: AbortSignal, customer: Customer, only?: string): Promise<void> {
    const caller = createCaller(customer.baseUrl ?? baseUrl, createAgent?.());
    while (!signal.aborted) {
      const result = await askOne(caller, customer, only);
      await sleep(below(random, result === "answered" ? MAX_PAUSE_MS : MAX_PAUSE_AFTER_FAILURE_MS));
    }
    caller.close();
  }

  return {
    asked,
    async run(signal, only, by = customers) {
      const workers = by.flatMap((customer) => Array.from({ length: customer.workers }, () => work(signal, customer, only)));
      await Promise.all(workers);
    },
  };
}

function pickManner(random: Random): Manner {
  const chance = random();
  return chance < 0.1 ? "leaves" : chance < 0.2 ? "reads slowly" : "reads on";
}

function pickWeighted(random: Random, faults: readonly UpstreamFault[]): UpstreamFault {
  const all = faults.reduce((sum, { weight }) => sum + weight, 0);
  let left = random() * all;
  const chosen = faults.find(({ weight }) => (left -= weight) < 0);
  return chosen ?? pick(random, faults);
}
