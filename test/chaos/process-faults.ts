import { setTimeout as sleep } from "node:timers/promises";
import { below, pick, type Random } from "../support/random.ts";
import type { Member } from "../support/supervised/member.ts";
import type { SupervisedStack } from "../support/supervised/supervised-stack.ts";
import { pause } from "../../runtime/wait.ts";

/** A time in which a process was not as it should be. */
export interface ProcessFault {
  /** As the report names it. */
  name: string;
  member: MemberName;
  kind: Kind;
  fromMs: number;
  /** Ready again. Infinity while it lasts. */
  untilMs: number;
}

export type MemberName = "extproc" | "envoy" | "operator" | "postgres" | "dashboard";
type Kind = "killed" | "stopped for a while" | "ended";

const MEMBERS: readonly MemberName[] = ["extproc", "envoy", "operator", "postgres", "dashboard"];
const KINDS: readonly Kind[] = ["killed", "stopped for a while", "ended"];
/** Each of them once, in an order of its own in each round. */
const ALL = MEMBERS.flatMap((member) => KINDS.map((kind) => ({ member, kind })));

export const PROCESS_FAULTS = ALL.map(nameOf);

export interface ProcessFaults {
  /** Oldest first. */
  readonly happened: readonly ProcessFault[];
  /** Until the signal aborts; whatever is away then comes back first. */
  run(signal: AbortSignal): Promise<void>;
}

export interface ProcessFaultsOptions {
  stack: SupervisedStack;
  random: Random;
  /** How long one is away or stopped at most. */
  maxAwayMs: number;
  /** Between two of them. */
  quietMs: number;
  onProgress: (line: string) => void;
}

export function createProcessFaults({ stack, random, maxAwayMs, quietMs, onProgress }: ProcessFaultsOptions): ProcessFaults {
  const happened: ProcessFault[] = [];
  const [plane] = stack.planes;
  if (plane === undefined) throw new Error("the stack has no data plane");
  const members: Record<MemberName, Member> = {
    extproc: plane.extproc,
    envoy: plane.envoy,
    operator: stack.operator,
    postgres: stack.postgres,
    dashboard: stack.dashboard,
  };

  async function inflict({ member: name, kind }: (typeof ALL)[number]): Promise<void> {
    const member = members[name];
    const awayMs = below(random, maxAwayMs);
    const fault: ProcessFault = {
      name: nameOf({ member: name, kind }),
      member: name,
      kind,
      fromMs: performance.now(),
      untilMs: Infinity,
    };
    happened.push(fault);
    switch (kind) {
      case "stopped for a while":
        await member.signal("SIGSTOP");
        await sleep(awayMs);
        await member.signal("SIGCONT");
        break;
      case "killed":
      case "ended":
        await member.end(kind === "killed" ? "SIGKILL" : name === "postgres" ? "SIGINT" : "SIGTERM");
        await sleep(awayMs / 4);
        await member.start();
        break;
    }
    fault.untilMs = performance.now();
    onProgress(`${fault.name}: ${((fault.untilMs - fault.fromMs) / 1000).toFixed(1)} s`);
  }

  return {
    happened,
    async run(signal) {
      while (!signal.aborted) {
        for (const each of shuffled(ALL, random)) {
          await pause(quietMs, signal);
          if (signal.aborted) return;
          await inflict(each);
        }
      }
    },
  };
}

function nameOf({ member, kind }: { member: MemberName; kind: Kind }): string {
  return `${member} ${kind}`;
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const rest = [...items];
  return items.map(() => {
    const item = pick(random, rest);
    rest.splice(rest.indexOf(item), 1);
    return item;
  });
}
