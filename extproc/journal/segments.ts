import {
  closeSync,
  fdatasync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { errorCode } from "../../runtime/error-code.ts";
import { OWNER_FILE, type Owner } from "./owner.ts";

/** One file of a journal. It is deleted as a whole, once nobody needs any of its records. */
export interface Segment {
  readonly file: string;
  readonly descriptor: number;
  /** Whole records; a torn one behind them is cut off. */
  bytes: number;
  /** Requests of which it holds records that are still needed. */
  readonly needed: Set<string>;
}

/** The files of a journal. Every call but `sync` and `removeAll` is synchronous: a record is in the kernel's hands on return. */
export interface Segments {
  /** @throws if the disk does not take it. Nothing of it is left on the disk then. */
  append(frame: Buffer, requestId: string): Segment;
  /** The request needs nothing of this segment any more. */
  release(segment: Segment, requestId: string): void;
  /** Has the disk write what the kernel has, off the request path. */
  sync(): void;
  readonly bytes: number;
  close(): void;
  removeAll(): Promise<void>;
}

/** What a disk may refuse. A test lets it. */
export interface SegmentFiles {
  open(file: string): number;
  write(descriptor: number, bytes: Buffer, from: number): number;
  truncate(descriptor: number, bytes: number): void;
}

export interface SegmentsOptions {
  directory: string;
  owner: Owner;
  segmentBytes: number;
  /** A segment could not be synced, cut, replaced or deleted. */
  onFailed(error: unknown): void;
  files?: SegmentFiles;
}

const FILES: SegmentFiles = {
  open: (file) => openSync(file, "ax", 0o600),
  write: (descriptor, bytes, from) => writeSync(descriptor, bytes, from),
  truncate: ftruncateSync,
};

export function createSegments({ directory, owner, segmentBytes, onFailed, files = FILES }: SegmentsOptions): Segments {
  const segments = new Set<Segment>();
  let hasDirectory = false;
  let opened = 0;
  let bytes = 0;
  let current: Segment | undefined;
  let isDirty = false;
  let isSyncing = false;
  let isStuckWithFull = false;

  /** The directory appears with its owner and an open segment inside: no other process takes it for one that was left. */
  function openSegment(): Segment {
    const name = `${String(opened + 1).padStart(8, "0")}.journal`;
    const file = path.join(directory, name);
    const descriptor = hasDirectory ? files.open(file) : makeDirectory(name);
    opened++;
    const segment = { file, descriptor, bytes: 0, needed: new Set<string>() };
    segments.add(segment);
    return segment;
  }

  function makeDirectory(firstSegment: string): number {
    const fresh = `${directory}.new`;
    rmSync(fresh, { recursive: true, force: true });
    mkdirSync(fresh, { recursive: true });
    writeFileSync(path.join(fresh, OWNER_FILE), JSON.stringify(owner), { flush: true });
    const descriptor = files.open(path.join(fresh, firstSegment));
    try {
      renameSync(fresh, directory);
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    hasDirectory = true;
    return descriptor;
  }

  function writable(): Segment {
    if (current === undefined) return (current = openSegment());
    if (current.bytes >= segmentBytes) rotate(current);
    return current;
  }

  /** While no new segment can be made, a full one is written on. */
  function rotate(full: Segment): void {
    try {
      current = openSegment();
    } catch (error) {
      if (!isStuckWithFull) onFailed(error);
      isStuckWithFull = true;
      return;
    }
    isStuckWithFull = false;
    retire(full);
  }

  /** Writes nothing behind it any more. */
  function retire(segment: Segment): void {
    if (current === segment) current = undefined;
    fdatasync(segment.descriptor, (error) => {
      if (error !== null) onFailed(error);
      closeSync(segment.descriptor);
    });
    deleteIfUnneeded(segment);
  }

  function cutBack(segment: Segment): void {
    try {
      files.truncate(segment.descriptor, segment.bytes);
    } catch (error) {
      onFailed(error);
      retire(segment);
    }
  }

  function deleteIfUnneeded(segment: Segment): void {
    if (segment === current && segment.needed.size === 0 && segment.bytes >= segmentBytes) rotate(segment);
    if (segment === current || segment.needed.size > 0 || !segments.delete(segment)) return;
    bytes -= segment.bytes;
    try {
      unlinkSync(segment.file);
    } catch (error) {
      onFailed(error);
    }
  }

  // A directory that cannot be written is known at the start. On a full disk it is made later: what fills it may be the
  // journals of processes that are gone, and this one's start is what settles them.
  try {
    current = openSegment();
  } catch (error) {
    if (!isDiskFull(error)) throw error;
    onFailed(error);
  }
  return {
    append(frame, requestId) {
      const segment = writable();
      let written = 0;
      try {
        while (written < frame.length) written += files.write(segment.descriptor, frame, written);
      } catch (error) {
        if (written > 0) cutBack(segment);
        throw error;
      }
      segment.bytes += frame.length;
      bytes += frame.length;
      isDirty = true;
      segment.needed.add(requestId);
      return segment;
    },
    release(segment, requestId) {
      segment.needed.delete(requestId);
      deleteIfUnneeded(segment);
    },
    /** Never two at once: what is written in the meantime is in the next one. */
    sync() {
      if (!isDirty || isSyncing || current === undefined) return;
      const synced = current;
      isDirty = false;
      isSyncing = true;
      fdatasync(synced.descriptor, (error) => {
        isSyncing = false;
        // Closed meanwhile, and synced before that.
        if (error === null || error.code === "EBADF") return;
        onFailed(error);
        // What the kernel could not write it does not try again.
        if (synced === current) retire(synced);
      });
    },
    get bytes() {
      return bytes;
    },
    close() {
      if (current !== undefined) closeSync(current.descriptor);
    },
    async removeAll() {
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function isDiskFull(error: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(errorCode(error) ?? "");
}
