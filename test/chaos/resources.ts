import assert from "node:assert/strict";
import * as z from "zod";
import type { Database } from "../../ledger/postgres/database.ts";
import { eventually } from "../support/eventually.ts";
import type { Member } from "../support/supervised/member.ts";
import { readFacts, type ProcessFacts } from "../support/supervised/process-facts.ts";

/** What the product holds at rest. */
export interface Holdings {
  /** By the process's name. */
  processes: ReadonlyMap<string, ProcessFacts>;
  /** Connections to PostgreSQL. How many files each of its sessions keeps open is PostgreSQL's own affair. */
  sessions: number;
}

/** V8 and Envoy's allocator keep what one load needed for the next one; a leak has no such end. */
const MORE_MIB = 192;
/** A round of the feed or of the operator may be under way at any time. What leaks does so at each fault, or at each request. */
const MORE_DESCRIPTORS = 12;
const MORE_SESSIONS = 6;
/**
 * Pools shrink by their idle times: 10 s of connections to PostgreSQL, 20 s of Envoy's to the dashboard, 4 s of Envoy's to model
 * servers. What is still held after several times the longest of them has leaked.
 */
const GIVEN_BACK_WITHIN_MS = 60_000;

export interface Holders {
  members: readonly Member[];
  /** The one of them whose descriptors are not counted. */
  postgres: Member;
  database: Database;
}

export async function readHoldings({ members, postgres, database }: Holders): Promise<Holdings> {
  const [processes, sessions] = await Promise.all([
    Promise.all(members.map(async (each) => [each.name, await readOne(each, each === postgres)] as const)),
    countSessions(database),
  ]);
  return { processes: new Map(processes), sessions };
}

async function readOne({ pid }: Member, isPostgres: boolean): Promise<ProcessFacts> {
  const facts = await readFacts(pid);
  return isPostgres ? { ...facts, descriptors: 0 } : facts;
}

async function countSessions(database: Database): Promise<number> {
  const [row] = await database.query({
    text: "SELECT count(*) AS sessions FROM pg_stat_activity WHERE backend_type = 'client backend'",
    row: z.strictObject({ sessions: z.bigint() }),
  });
  return Number(row?.sessions ?? 0n);
}

/** Waits until idle connections are closed. @returns what is held now, and each excess over what was held before. */
export async function untilGivenBack(before: Holdings, holders: Holders): Promise<{ after: Holdings; excess: string[] }> {
  let after = before;
  const excess = await eventually(
    async () => {
      after = await readHoldings(holders);
      assert.deepEqual(compareHoldings(before, after), []);
      return [];
    },
    { withinMs: GIVEN_BACK_WITHIN_MS, everyMs: 500 },
  ).catch(() => compareHoldings(before, after));
  return { after, excess };
}

function compareHoldings(before: Holdings, after: Holdings): string[] {
  const processes = [...after.processes].flatMap(([name, now]) => {
    const { memoryMiB, descriptors } = before.processes.get(name) ?? NOTHING;
    return [
      ...(now.memoryMiB <= memoryMiB + MORE_MIB ? [] : [`${name} holds ${mib(now.memoryMiB)}, before ${mib(memoryMiB)}`]),
      ...(now.descriptors <= descriptors + MORE_DESCRIPTORS
        ? []
        : [`${name} holds ${now.descriptors} descriptors, before ${descriptors}`]),
    ];
  });
  const hasMoreSessions = after.sessions > before.sessions + MORE_SESSIONS;
  return [...processes, ...(hasMoreSessions ? [`PostgreSQL has ${after.sessions} sessions, before ${before.sessions}`] : [])];
}

/** A line for each process, for people. */
export function describeHoldings(before: Holdings, after: Holdings): string[] {
  const processes = [...after.processes].map(([name, now]) => {
    const { memoryMiB, descriptors } = before.processes.get(name) ?? NOTHING;
    return `${name}: ${mib(memoryMiB)} before, ${mib(now.memoryMiB)} now; descriptors ${descriptors}, ${now.descriptors}`;
  });
  return [...processes, `sessions of PostgreSQL: ${before.sessions} before, ${after.sessions} now`];
}

const NOTHING: ProcessFacts = { memoryMiB: 0, descriptors: 0 };

function mib(amount: number): string {
  return `${Math.round(amount)} MiB`;
}
