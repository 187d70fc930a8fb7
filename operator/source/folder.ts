import { errorCode } from "../../runtime/error-code.ts";
import type { OperatorEvents } from "../events.ts";
import { complaintOf } from "../model/status.ts";
import { readFolder, type FolderReading } from "./folder-content.ts";
import { readFolderFiles } from "./folder-files.ts";
import { watchFolder } from "./folder-watch.ts";
import type { LocalUpstreams } from "./local-upstreams.ts";
import { describeRefusal, type Source } from "./source.ts";

export interface FolderOptions {
  folder: string;
  upstreams: LocalUpstreams;
  /** Quiet time after a change before the folder is read: editors write in several steps. */
  debounceMs?: number;
}

export interface FolderDeps {
  events: Pick<
    OperatorEvents,
    "resourceRefused" | "fileRecovered" | "modelRefused" | "modelRecovered" | "sourceUnreadable" | "sourceReadable"
  >;
  /** `current()` has changed. A burst of changes causes one call. */
  onChange(): void;
}

const DEFAULT_DEBOUNCE_MS = 150;
/** A file that is continuously written to must not keep the others from being read. */
const MAX_DEBOUNCE_MS = 2_000;

/**
 * Models and Secrets from the YAML files of a folder, watched.
 * @throws Error if the folder cannot be read at the start; later, the last read stays active.
 */
export async function startFolderSource(options: FolderOptions, { events, onChange }: FolderDeps): Promise<Source> {
  const { folder, upstreams, debounceMs = DEFAULT_DEBOUNCE_MS } = options;
  let reading: FolderReading = { memory: new Map(), set: { models: [], secrets: new Map() }, refusals: [] };
  /** The file of each reported line. */
  let refused: ReadonlyMap<string, string> = new Map();
  let complaints: ReadonlyMap<string, string> = new Map();
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();

  async function read(): Promise<void> {
    const next = readFolder(await readFolderFiles(folder), reading.memory, upstreams);
    reading = next;
    announce(next);
  }

  /** A rejection is reported once, not at every save of another file; and once, that a file has no more of them. */
  function announce({ refusals, memory }: FolderReading): void {
    const before = refused;
    refused = new Map(refusals.map((refusal) => [describeRefusal(refusal), refusal.origin]));
    for (const refusal of refusals) if (!before.has(describeRefusal(refusal))) events.resourceRefused(refusal);
    const invalid = new Set(refused.values());
    for (const file of new Set(before.values())) if (!invalid.has(file) && memory.has(file)) events.fileRecovered({ file });
  }

  async function reread(): Promise<void> {
    try {
      await read();
      events.sourceReadable();
      onChange();
    } catch (error) {
      events.sourceUnreadable({ source: folder, error });
    }
  }

  let waitingSince: number | undefined;
  function readSoon(): void {
    clearTimeout(timer);
    waitingSince ??= performance.now();
    const leftMs = MAX_DEBOUNCE_MS - (performance.now() - waitingSince);
    timer = setTimeout(
      () => {
        waitingSince = undefined;
        running = running.then(reread);
      },
      Math.max(0, Math.min(debounceMs, leftMs)),
    );
  }

  // Before the watch, because an unreadable folder ends the start; after it, for changes in between.
  await read();
  const watching = await watchFolder(folder, {
    onChange: readSoon,
    onError(error) {
      // A link that leads back to itself: reading reports the file, and the others are still watched.
      if (errorCode(error) === "ELOOP") return;
      events.sourceUnreadable({ source: folder, error });
    },
  });
  await read();

  return {
    current: () => reading.set,
    reportStatuses: async ({ set, statuses }) => {
      const next = new Map<string, string>();
      for (const { key, origin, resource } of set.models) {
        const status = statuses.get(key);
        const complaint = status === undefined ? null : complaintOf(status);
        if (complaint === null) continue;
        const line = `${origin}: Model ${resource.metadata.name}: ${complaint}`;
        next.set(key, line);
        if (complaints.get(key) !== line) events.modelRefused({ key, line });
      }
      for (const { key, origin, resource } of set.models)
        if (complaints.has(key) && !next.has(key))
          events.modelRecovered({ key, line: `${origin}: Model ${resource.metadata.name} is valid again` });
      complaints = next;
    },
    async stop() {
      await watching.stop();
      clearTimeout(timer);
      await running;
    },
  };
}
