/** The resources of a request until it ends. */
export interface Slot {
  /** Idempotent. */
  release(): void;
}

export function createSlot(onReleased: () => void): Slot {
  let isReleased = false;
  return {
    release() {
      if (isReleased) return;
      isReleased = true;
      onReleased();
    },
  };
}
