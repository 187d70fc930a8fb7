import { expect, test } from "vitest";
import { createCallSlots } from "../../../../extproc/guardrails/call-slots.ts";

/** However slow a hook is, no account takes it from the others (S55). */
function enterMany(slots: ReturnType<typeof createCallSlots>, account: string, count: number, hook = "hook") {
  const started: (() => void)[] = [];
  const leaves = Array.from({ length: count }, () => slots.enter(hook, account, () => started.push(() => {})));
  return { started, leaves };
}

test("an account alone uses half of the slots, and another one finds a slot at once", () => {
  const slots = createCallSlots({ maxOpen: 8 });
  const first = enterMany(slots, "first", 100);
  expect(first.started).toHaveLength(4);
  expect(enterMany(slots, "second", 1).started).toHaveLength(1);
  expect(enterMany(slots, "third", 1).started).toHaveLength(1);
});

test("hooks have slots of their own", () => {
  const slots = createCallSlots({ maxOpen: 2 });
  enterMany(slots, "first", 5);
  expect(enterMany(slots, "first", 1, "other").started).toHaveLength(1);
});

test("who leaves makes room for the next, in turns by account", () => {
  const slots = createCallSlots({ maxOpen: 2 });
  const order: string[] = [];
  const leave = slots.enter("hook", "a", () => order.push("a1"));
  const others = ["a2", "a3", "b1", "b2"].map((name) => slots.enter("hook", name.slice(0, 1), () => order.push(name)));
  expect(order).toEqual(["a1", "b1"]);
  leave();
  expect(order).toEqual(["a1", "b1", "a2"]);
  others[2]?.();
  others[0]?.();
  expect(order.toSorted()).toEqual(["a1", "a2", "a3", "b1", "b2"]);
});

test("who leaves the queue never starts, and leaving twice frees one slot", () => {
  const slots = createCallSlots({ maxOpen: 2 });
  const first = enterMany(slots, "first", 2);
  expect(first.started).toHaveLength(1);
  first.leaves[1]?.();
  first.leaves[0]?.();
  first.leaves[0]?.();
  expect(first.started).toHaveLength(1);
  expect(enterMany(slots, "first", 3).started).toHaveLength(1);
});

test("all leave, and all slots are free again", () => {
  const slots = createCallSlots({ maxOpen: 8 });
  for (let round = 0; round < 50; round++)
    for (const leave of [...enterMany(slots, "a", 20).leaves, ...enterMany(slots, "b", 20).leaves]) leave();
  expect(enterMany(slots, "c", 20).started).toHaveLength(4);
});
