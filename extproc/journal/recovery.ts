import { mkdir, readdir, rm } from "node:fs/promises";
import path from "node:path";
import type { Settlement } from "../../ledger/settlement/settlement.ts";
import type { Logger } from "../../runtime/log.ts";
import { createDamagedJournals, DAMAGED_FOLDER } from "./damaged-journals.ts";
import { isInUse, OWNER_FILE, readOwner } from "./owner.ts";
import { isSegment, readJournal, type JournalDamage } from "./read-journal.ts";

/** Settles the journals of ended processes. */
export interface Recovery {
  /** Looks for journals of processes that have ended since. */
  look(): Promise<void>;
  /** Records what Postgres has; a completely settled journal is removed, except for damaged segments. */
  committed(settlements: readonly Settlement[]): void;
  /** Attempts that are not settled yet. */
  readonly open: number;
  /** Damaged journals kept for inspection. */
  readonly damagedJournals: number;
}

export interface RecoveryDeps {
  root: string;
  /** This process's own journal, which is never treated as abandoned. */
  holder?: string;
  /** This process's number, and how many start here: each takes its own part, so no two recover the same journal. */
  worker?: { number: number; of: number };
  settler: { add(settlement: Settlement): void };
  /** Frees the credit leased by an ended process. */
  endLeasesOf(holder: string): Promise<unknown>;
  /** Part of a journal could not be read. */
  onDamaged?(damage: JournalDamage & { holder: string }): void;
  log: Logger;
}

interface AbandonedJournal {
  directory: string;
  holder: string;
  damage: JournalDamage;
  /** Attempts that Postgres does not have yet. */
  open: Set<string>;
  isFinishing: boolean;
}

/** Passes everything to the settler, which may wait until Postgres is back. Journals in use are left alone. */
export async function recoverJournals({
  root,
  holder: ownHolder,
  worker = { number: 0, of: 1 },
  settler,
  endLeasesOf,
  onDamaged = () => {},
  log,
}: RecoveryDeps): Promise<Recovery> {
  const journals = new Map<string, AbandonedJournal>();
  const damagedJournals = createDamagedJournals({ root, log });

  async function recover(directory: string): Promise<void> {
    const holder = path.basename(directory);
    const known = journals.get(holder);
    if (known?.open.size === 0) return finish(known);
    if (known !== undefined || holder === ownHolder || !(await holdsJournal(directory))) return;
    const owner = await readOwner(directory);
    if ((owner?.worker ?? 0) % worker.of !== worker.number || (await isInUse(directory, owner))) return;
    const { settlements, damage } = await readJournal(directory);
    const lost = settlements.filter(({ outcome }) => outcome === "lost").length;
    log.warn({ holder, settlements: settlements.length, lost }, "recovering the journal of an ended process");
    if (damage.records > 0) onDamaged({ holder, ...damage });
    const open = new Set(settlements.map(({ requestId }) => requestId));
    const journal = { directory, holder, damage, open, isFinishing: false };
    journals.set(holder, journal);
    if (journal.open.size === 0) return finish(journal);
    for (const settlement of settlements) settler.add(settlement);
  }

  /** The leases end last: while charges are in flight, the credit that pays for them is not leased again. */
  async function finish(journal: AbandonedJournal): Promise<void> {
    if (journal.isFinishing) return;
    journal.isFinishing = true;
    const { directory, holder, damage } = journal;
    try {
      await endLeasesOf(holder);
      if (damage.segments.length > 0) await damagedJournals.keep({ directory, segments: damage.segments });
      await rm(directory, { recursive: true, force: true });
      journals.delete(holder);
      log.info({ holder }, "journal settled");
    } catch (error) {
      log.warn({ err: error, holder }, "failed to remove a settled journal; retrying");
    } finally {
      journal.isFinishing = false;
    }
  }

  async function look(): Promise<void> {
    await mkdir(root, { recursive: true });
    await damagedJournals.recount();
    const directories = (await readdir(root, { withFileTypes: true })).filter(
      (entry) => entry.isDirectory() && entry.name !== DAMAGED_FOLDER && !entry.name.endsWith(".new"),
    );
    for (const { name } of directories) {
      await recover(path.join(root, name)).catch((error: unknown) =>
        log.error({ err: error, journal: name }, "failed to recover a journal; keeping it in place"),
      );
    }
  }

  await look();
  return {
    look,
    committed(settlements) {
      for (const journal of journals.values()) {
        if (journal.open.size === 0) continue;
        for (const { requestId } of settlements) journal.open.delete(requestId);
        if (journal.open.size === 0) void finish(journal);
      }
    },
    get open() {
      return journals.values().reduce((sum, { open }) => sum + open.size, 0);
    },
    get damagedJournals() {
      return damagedJournals.count;
    },
  };
}

/** Some file systems have folders of their own, such as lost+found. */
async function holdsJournal(directory: string): Promise<boolean> {
  return (await readdir(directory)).some((name) => isSegment(name) || name === OWNER_FILE);
}
