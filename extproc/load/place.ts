/** What a request takes up until it ends. */
export interface Place {
  /** Once is enough, more often does no harm. */
  leave(): void;
}

export function createPlace(onLeft: () => void): Place {
  let isLeft = false;
  return {
    leave() {
      if (isLeft) return;
      isLeft = true;
      onLeft();
    },
  };
}
