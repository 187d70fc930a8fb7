import { expect, test } from "vitest";
import { chooseModel } from "../../../../extproc/route/choose-model.ts";
import { createWorld } from "../../../../extproc/world/world.ts";
import { catalogueModel, PRICE } from "../../../support/billing/ledger.ts";
import { worldKey } from "../../../support/billing/world-key.ts";

const modelsUrl = "http://127.0.0.1/dashboard/models";

/** The message for an unknown model, or something else in its place, if there are so many models. */
function messageAmong(count: number, name: unknown = "unknown"): string {
  const world = createWorld({ lastHeardMs: () => null });
  const price = { ...PRICE, id: 1n, version: 1, schedule: [], batch: null };
  const names = Array.from({ length: count }, (_, index) => `large-${String(index).padStart(3, "0")}`);
  const models = names.map((name) => ({ model: catalogueModel(name), price }));
  world.apply({ accounts: [], keys: [], models, unreadable: [] });
  try {
    chooseModel({ world, key: worldKey(), protocol: "chat", modelsUrl, name });
  } catch (error) {
    if (error instanceof Error) return error.message;
    throw error;
  }
  throw new Error("an unknown model was found");
}

test("an unknown model's error names at most twenty that there are, and where all are (S9)", () => {
  expect(messageAmong(2)).toBe(
    `The model "unknown" was not found. This interface has: large-000, large-001. All are at ${modelsUrl}`,
  );
  expect(messageAmong(20)).toContain("large-018, large-019. All are");
  const many = messageAmong(1_000);
  expect(many).toContain("large-018, large-019, and 980 more. All are");
  expect(many).not.toContain("large-020");
});

test("the error about a model that is no name says what it is (S21)", () => {
  const remedy = "Send the name of a model as a string.";
  expect(messageAmong(1, null)).toBe(`\`model\` is null. ${remedy}`);
  expect(messageAmong(1, 5)).toBe(`\`model\` is a number that is not accepted there. ${remedy}`);
  expect(messageAmong(1, ["a"])).toBe(`\`model\` is an array. ${remedy}`);
  expect(messageAmong(1, "")).toBe(`\`model\` is an empty string. ${remedy}`);
});
