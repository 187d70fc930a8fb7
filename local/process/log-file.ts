import { fstatSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import path from "node:path";
import { pause } from "../../runtime/wait.ts";

const POLL_MS = 150;
const READ_BYTES = 256 * 1024;
/** Of an unfinished line; the beginning of a longer one is discarded. */
const MAX_REST_BYTES = 1024 * 1024;

/** A new log for a child; the last run's is kept next to it as `<name>.1.log`. */
export async function rotateLog(directory: string, name: string): Promise<string> {
  const file = path.join(directory, `${name}.log`);
  await rename(file, path.join(directory, `${name}.1.log`)).catch(() => undefined);
  const handle = await open(file, "w");
  await handle.close();
  return file;
}

/** The log of the earlier runs, to which a restarted child appends. */
export async function continueLog(directory: string, name: string): Promise<{ file: string; fromByte: number }> {
  const file = path.join(directory, `${name}.log`);
  const handle = await open(file, "a");
  try {
    return { file, fromByte: (await handle.stat()).size };
  } finally {
    await handle.close();
  }
}

const LAST_LINES = 10;
const LAST_BYTES = 8 * 1024;

/** The last lines of a log; none if it cannot be read. */
export async function readLastLines(file: string): Promise<string[]> {
  const handle = await open(file, "r").catch(() => undefined);
  if (handle === undefined) return [];
  try {
    const { size } = await handle.stat();
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(LAST_BYTES), 0, LAST_BYTES, Math.max(0, size - LAST_BYTES));
    const lines = buffer.toString("utf8", 0, bytesRead).trimEnd().split("\n");
    // The first one may be cut.
    return (size > LAST_BYTES ? lines.slice(1) : lines).slice(-LAST_LINES);
  } finally {
    await handle.close();
  }
}

export interface Watch {
  /** Reads the rest, then ends. */
  stop(): Promise<void>;
}

/**
 * Calls back for each line appended to a file. Children write to their files themselves, so that nothing is lost when the
 * supervisor dies, and busy logs need no relaying.
 * @param interesting bytes that a chunk must contain to be examined.
 */
export function watchLog(
  { file, fromByte }: { file: string; fromByte: number },
  interesting: readonly string[],
  onLine: (line: string) => void,
): Watch {
  const stopping = new AbortController();
  const watching = follow({ file, fromByte }, interesting, onLine, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}

async function follow(
  { file, fromByte }: { file: string; fromByte: number },
  interesting: readonly string[],
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const handle = await open(file, "r");
  const buffer = Buffer.alloc(READ_BYTES);
  let position = fromByte;
  let rest = Buffer.alloc(0);
  try {
    for (;;) {
      const isLast = signal.aborted;
      // Most looks find nothing new, and asking for the size needs no thread of the pool, as a read does.
      const { size } = fstatSync(handle.fd);
      // It was rotated (log-rotation.ts), and starts again.
      if (size < position) position = 0;
      while (size > position) {
        const { bytesRead } = await handle.read(buffer, 0, READ_BYTES, position);
        if (bytesRead === 0) break;
        position += bytesRead;
        const text = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
        const end = text.lastIndexOf(0x0a) + 1;
        rest = Buffer.from(text.subarray(Math.max(end, text.length - MAX_REST_BYTES)));
        const lines = text.subarray(0, end);
        if (!interesting.some((each) => lines.includes(each))) continue;
        for (const line of lines.toString("utf8").split("\n")) {
          if (interesting.some((each) => line.includes(each))) onLine(line);
        }
      }
      if (isLast) return;
      await pause(POLL_MS, signal);
    }
  } finally {
    await handle.close();
  }
}
