/**
 * The body of a global set-up that starts something and lets the run begin. What needs it waits for it in a hook, by asking
 * for the same thing; a failure is left to those, since a set-up that throws ends the whole run.
 * @returns the set-up's teardown.
 */
export function inBackground(work: () => Promise<unknown>): () => Promise<void> {
  const done = quietly(work);
  return () => done;
}

async function quietly(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
  }
}
