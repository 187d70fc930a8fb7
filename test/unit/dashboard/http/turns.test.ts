import { describe, expect, test } from "vitest";
import { createTurns } from "../../../../dashboard/http/turns.ts";

const bounds = { inWork: 2, waiting: 1, waitMs: 60_000, refusal: "At most 2 at once." };
const REFUSED = { code: "rate_limited", status: 429, headers: { "retry-after": "2" } };

describe("turns", () => {
  test("admit a number at once, let some wait, and refuse more with a retry time", async () => {
    const turns = createTurns(bounds);
    const [end] = await Promise.all([turns.take("acme"), turns.take("acme")]);
    let hasCome = false;
    const third = turns.take("acme").then(() => (hasCome = true));
    await expect(turns.take("acme")).rejects.toMatchObject(REFUSED);
    expect(hasCome).toBe(false);
    end?.();
    await third;
    expect(hasCome).toBe(true);
  });

  test("of one account do not use up another's", async () => {
    const turns = createTurns({ ...bounds, waiting: 0 });
    await Promise.all([turns.take("acme"), turns.take("acme")]);
    await expect(turns.take("acme")).rejects.toMatchObject(REFUSED);
    await expect(turns.take("globex")).resolves.toBeTypeOf("function");
  });

  test("that are ended twice admit one more, not two", async () => {
    const turns = createTurns({ ...bounds, waiting: 0 });
    const [end] = await Promise.all([turns.take("acme"), turns.take("acme")]);
    end?.();
    end?.();
    await turns.take("acme");
    await expect(turns.take("acme")).rejects.toMatchObject(REFUSED);
  });

  test("that are not granted in time are refused, and given to nobody later", async () => {
    const turns = createTurns({ ...bounds, inWork: 1, waitMs: 1 });
    const end = await turns.take("acme");
    await expect(turns.take("acme")).rejects.toMatchObject(REFUSED);
    end();
    await expect(turns.take("acme")).resolves.toBeTypeOf("function");
  });
});
