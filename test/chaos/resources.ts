import type { Member } from "../support/supervised/member.ts";
import { readFacts, type ProcessFacts } from "../support/supervised/process-facts.ts";

/** What each process holds at rest, by its name. */
export type Holdings = ReadonlyMap<string, ProcessFacts>;

/** V8 and Envoy's allocator keep what one load needed for the next one; a leak has no such end. */
const MORE_MIB = 192;
/** Pools that have not been idle for long enough yet; each session of PostgreSQL's has some twenty files open. */
const mostDescriptors = (before: number) => 1.5 * before + 24;

export async function readHoldings(members: readonly Member[]): Promise<Holdings> {
  return new Map(await Promise.all(members.map(async (each) => [each.name, await readFacts(each.pid)] as const)));
}

/** @returns what is held beyond what was held before. */
export function compareHoldings(before: Holdings, after: Holdings): string[] {
  return [...after].flatMap(([name, { memoryMiB, descriptors }]) => {
    const earlier = before.get(name) ?? { memoryMiB: 0, descriptors: 0 };
    return [
      ...(memoryMiB <= earlier.memoryMiB + MORE_MIB ? [] : [`${name} holds ${mib(memoryMiB)}, before ${mib(earlier.memoryMiB)}`]),
      ...(descriptors <= mostDescriptors(earlier.descriptors)
        ? []
        : [`${name} holds ${descriptors} descriptors, before ${earlier.descriptors}`]),
    ];
  });
}

/** A line for each process, for people. */
export function describeHoldings(before: Holdings, after: Holdings): string[] {
  return [...after].map(([name, now]) => {
    const then = before.get(name) ?? { memoryMiB: 0, descriptors: 0 };
    return `${name}: ${mib(then.memoryMiB)} before, ${mib(now.memoryMiB)} now; descriptors ${then.descriptors}, ${now.descriptors}`;
  });
}

function mib(amount: number): string {
  return `${Math.round(amount)} MiB`;
}
