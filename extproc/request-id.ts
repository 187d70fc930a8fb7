import { randomFillSync } from "node:crypto";
import { v7 as uuidv7 } from "uuid";

const ID_BYTES = 16;
const POOL_BYTES = 256 * ID_BYTES;

/** UUIDv7s of a moment. Random bytes are requested from the system for many at once. */
export function createRequestIds(): (nowMs: number) => string {
  const pool = Buffer.alloc(POOL_BYTES);
  let at = POOL_BYTES;
  return (nowMs) => {
    if (at === POOL_BYTES) {
      randomFillSync(pool);
      at = 0;
    }
    const random = pool.subarray(at, at + ID_BYTES);
    at += ID_BYTES;
    return uuidv7({ msecs: nowMs, random });
  };
}
