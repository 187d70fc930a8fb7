import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import type { Settlement } from "../../ledger/settle.ts";
import type { Logger } from "../../runtime/log.ts";
import { decodeFrames } from "./frame.ts";
import { isRunning, readOwner } from "./owner.ts";
import { decodeRecord, settleLost, type Checkpoint, type StartedRun } from "./record.ts";

/** Settles what processes that are gone have left in their journals. */
export interface Recovery {
  /** Takes note of what Postgres has; a journal all of which it has is removed. */
  committed(settlements: readonly Settlement[]): void;
  /** Attempts that are not settled yet. */
  readonly open: number;
}

export interface RecoveryDeps {
  root: string;
  /** This process's number, and how many start here: each takes its own part, and no two meet over one journal. */
  worker?: { number: number; of: number };
  settler: { add(settlement: Settlement): void };
  /** Frees the credit that a process which is gone has leased. */
  endLeasesOf(holder: string): Promise<unknown>;
  log: Logger;
}

/** Hands everything to the settler, which may take until Postgres is back. Living owners' journals are left alone. */
export async function recoverJournals({
  root,
  worker = { number: 0, of: 1 },
  settler,
  endLeasesOf,
  log,
}: RecoveryDeps): Promise<Recovery> {
  const journals = new Map<string, { directory: string; holder: string; open: Set<string> }>();

  async function recover(directory: string): Promise<void> {
    const owner = await readOwner(directory);
    if (owner.worker % worker.of !== worker.number || (await isRunning(owner))) return;
    const { settlements, brokenBytes } = await readJournal(directory);
    const lost = settlements.filter(({ outcome }) => outcome === "lost").length;
    log.warn({ holder: owner.holder, settlements: settlements.length, lost, brokenBytes }, "recovering a process's journal");
    const journal = { directory, holder: owner.holder, open: new Set(settlements.map(({ requestId }) => requestId)) };
    if (journal.open.size === 0) return finish(journal);
    for (const requestId of journal.open) journals.set(requestId, journal);
    for (const settlement of settlements) settler.add(settlement);
  }

  /** The leases end last: while charges are on their way, what pays for them is not leased again. */
  async function finish({ directory, holder }: { directory: string; holder: string }): Promise<void> {
    await endLeasesOf(holder);
    await rm(directory, { recursive: true, force: true });
    log.info({ holder }, "a process's journal is settled");
  }

  await mkdir(root, { recursive: true });
  const names = (await readdir(root)).filter((name) => !name.endsWith(".new"));
  for (const name of names) {
    await recover(path.join(root, name)).catch((error: unknown) =>
      log.error({ err: error, journal: name }, "a journal cannot be recovered; it stays where it is"),
    );
  }

  return {
    committed(settlements) {
      for (const { requestId } of settlements) {
        const journal = journals.get(requestId);
        journals.delete(requestId);
        if (journal === undefined || !journal.open.delete(requestId) || journal.open.size > 0) continue;
        finish(journal).catch((error: unknown) =>
          log.warn({ err: error, holder: journal.holder }, "a settled journal could not be removed; the next start does it"),
        );
      }
    },
    get open() {
      return journals.size;
    },
  };
}

/** @returns a settlement for each attempt in it: its own, or what was noted last. */
export async function readJournal(directory: string): Promise<{ settlements: Settlement[]; brokenBytes: number }> {
  const started = new Map<string, StartedRun>();
  const checkpoints = new Map<string, Checkpoint>();
  const ended = new Map<string, Settlement>();
  let brokenBytes = 0;
  const files = (await readdir(directory)).filter((name) => name.endsWith(".journal")).sort();
  for (const file of files) {
    const frames = decodeFrames(await readFile(path.join(directory, file)));
    brokenBytes += frames.brokenBytes;
    for (const record of frames.texts.map(decodeRecord)) {
      switch (record.type) {
        case "start": {
          const { type: _, ...run } = record;
          started.set(run.requestId, run);
          break;
        }
        case "checkpoint": {
          const { type: _, ...checkpoint } = record;
          checkpoints.set(checkpoint.requestId, checkpoint);
          break;
        }
        case "end":
          ended.set(record.settlement.requestId, record.settlement);
          break;
      }
    }
  }
  const lost = [...started.values()]
    .filter(({ requestId }) => !ended.has(requestId))
    .map((run) => settleLost(run, checkpoints.get(run.requestId)));
  return { settlements: [...ended.values(), ...lost], brokenBytes };
}
