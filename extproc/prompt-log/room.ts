/** Memory for what is being recorded, and for what waits to be written. */
export interface RecordRoom {
  /** @returns null if there is none left. */
  take(accountId: string, bytes: number): TakenRoom | null;
  readonly bytes: number;
}

export interface TakenRoom {
  /** To so many bytes altogether. @returns false if there is no room: nothing changes then. */
  resize(bytes: number): boolean;
  release(): void;
}

const MEBIBYTE = 1024 * 1024;

/** No account takes more than a part of it: one that sends much does not keep the others from recording. */
export function createRecordRoom({ maxBytes = 64 * MEBIBYTE, maxAccountBytes = 16 * MEBIBYTE } = {}): RecordRoom {
  const bytesOf = new Map<string, number>();
  let bytes = 0;

  function add(accountId: string, more: number): boolean {
    const own = (bytesOf.get(accountId) ?? 0) + more;
    if (more > 0 && (bytes + more > maxBytes || own > maxAccountBytes)) return false;
    bytes += more;
    if (own === 0) bytesOf.delete(accountId);
    else bytesOf.set(accountId, own);
    return true;
  }

  return {
    take(accountId, taken) {
      let held = taken;
      let isReleased = false;
      if (!add(accountId, held)) return null;
      return {
        resize(wanted) {
          if (isReleased || !add(accountId, wanted - held)) return false;
          held = wanted;
          return true;
        },
        release() {
          add(accountId, -held);
          held = 0;
          isReleased = true;
        },
      };
    },
    get bytes() {
      return bytes;
    },
  };
}
