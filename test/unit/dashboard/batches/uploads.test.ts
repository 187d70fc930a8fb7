import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createUploads, type UploadTurn } from "../../../../dashboard/batches/uploads.ts";

/** Turns of uploads (S58). */
const MEBIBYTE = 1024 * 1024;
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Every turn of a process, taken by four accounts. */
async function takeAll(uploads: ReturnType<typeof createUploads>): Promise<UploadTurn[]> {
  const accounts = ["a", "b", "c", "d"].flatMap((account) => [account, account]);
  return Promise.all(accounts.map((account) => uploads.take(account)));
}

function outcomeOf(turn: Promise<UploadTurn>) {
  return turn.then(
    () => "came",
    (error: unknown) => String(error),
  );
}

test("slow uploads that hold every turn give one up when another account waits, and not before (S58)", async () => {
  const uploads = createUploads();
  const turns = await takeAll(uploads);
  for (const turn of turns) {
    turn.waits();
    turn.signal.addEventListener("abort", () => turn.end());
  }
  await vi.advanceTimersByTimeAsync(60_000);
  expect(turns.map(({ signal }) => signal.aborted)).toEqual(turns.map(() => false));
  const victim = outcomeOf(uploads.take("victim"));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await victim).toBe("came");
  const ended = turns.filter(({ signal }) => signal.aborted);
  expect(ended).toHaveLength(1);
  expect(ended[0]?.signal.reason).toMatchObject({ status: 408, message: expect.stringContaining("1 MiB a second") });
});

test("an upload with a slow line keeps its turn for 25 seconds, although others wait (S58)", async () => {
  const uploads = createUploads();
  const turns = await takeAll(uploads);
  const arriving = setInterval(() => {
    for (const turn of turns) {
      turn.got(MEBIBYTE / 2);
      turn.waits();
    }
  }, 1_000);
  for (const turn of turns) {
    turn.waits();
    turn.signal.addEventListener("abort", () => turn.end());
  }
  const waiting = outcomeOf(uploads.take("e"));
  await vi.advanceTimersByTimeAsync(24_000);
  expect(turns.filter(({ signal }) => signal.aborted)).toEqual([]);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await waiting).toBe("came");
  expect(turns.filter(({ signal }) => signal.aborted)).toHaveLength(1);
  clearInterval(arriving);
});

test("an upload is slow by the time in which it waits for its sender, not by what the gateway takes (S58)", async () => {
  const uploads = createUploads();
  const turns = await takeAll(uploads);
  for (const [at, turn] of turns.entries()) {
    // The first sends nothing; the others send fast, and the gateway takes its time.
    turn.waits();
    if (at > 0) turn.got(MEBIBYTE);
    turn.signal.addEventListener("abort", () => turn.end());
  }
  await vi.advanceTimersByTimeAsync(20_000);
  const waiting = [outcomeOf(uploads.take("e")), outcomeOf(uploads.take("f"))];
  await vi.advanceTimersByTimeAsync(29_000);
  expect(turns.map(({ signal }) => signal.aborted)).toEqual(turns.map((_, at) => at === 0));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await Promise.all(waiting)).toEqual(["came", expect.stringContaining("Too many files and batches")]);
});

test("the next turn is for the account with the fewest uploads (S58)", async () => {
  const uploads = createUploads();
  const turns = await takeAll(uploads);
  const order: string[] = [];
  for (const account of ["a", "a", "b", "late"]) void uploads.take(account).then(() => order.push(account));
  turns.at(-1)?.end();
  await vi.advanceTimersByTimeAsync(0);
  expect(order).toEqual(["late"]);
  turns[0]?.end();
  await vi.advanceTimersByTimeAsync(0);
  expect(order).toEqual(["late", "a"]);
});

test("an account that uploads two files waits for one of them, and is told so (S58)", async () => {
  const uploads = createUploads();
  await Promise.all([uploads.take("a"), uploads.take("a")]);
  const third = outcomeOf(uploads.take("a"));
  await uploads.take("b");
  await vi.advanceTimersByTimeAsync(31_000);
  expect(await third).toContain("already uploading 2 files");
  expect(vi.getTimerCount()).toBe(0);
});
