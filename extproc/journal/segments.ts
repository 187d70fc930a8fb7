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

/** One file of a journal. It is deleted as a whole, once none of its records is needed. */
export interface Segment {
  readonly file: string;
  readonly descriptor: number;
  /** Complete records; a torn one after them is truncated. */
  bytes: number;
  /** Requests with needed records in it. */
  readonly needed: Set<string>;
}

/** The files of a journal. Every call but `sync` and `removeAll` is synchronous: a record is in the kernel's hands on return. */
export interface Segments {
  /** @throws if the disk rejects it. Then no part of it is left on the disk. */
  append(frame: Buffer, requestId: string): Segment;
  /** The request no longer needs this segment. */
  release(segment: Segment, requestId: string): void;
  /** Flushes the kernel's data to disk, off the request path. */
  sync(): void;
  readonly bytes: number;
  close(): void;
  removeAll(): Promise<void>;
}

/** Disk operations that may fail; tests replace them. */
export interface SegmentFiles {
  open(file: string): number;
  write(descriptor: number, bytes: Buffer, from: number): number;
  truncate(descriptor: number, bytes: number): void;
}

export interface SegmentsOptions {
  directory: string;
  owner: Owner;
  segmentBytes: number;
  /** A segment could not be synced, truncated, replaced or deleted. */
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

  /** The directory appears with its owner and an open segment inside, so no other process treats it as abandoned. */
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

  /** While no new segment can be created, a full one is extended. */
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

  /** Writes nothing more after it. */
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

  // An unwritable directory is detected at the start. On a full disk it is created later: the disk may be full of ended
  // processes' journals, and this one's start settles them.
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
    /** Never two at once: later writes are in the next one. */
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
        // The kernel does not retry failed writes.
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
