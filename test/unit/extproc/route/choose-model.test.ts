import { expect, test } from "vitest";
import { chooseModel } from "../../../../extproc/route/choose-model.ts";
import { createWorld } from "../../../../extproc/world/world.ts";
import { catalogueModel, PRICE } from "../../../support/billing/ledger.ts";
import { worldKey } from "../../../support/billing/world-key.ts";

const modelsUrl = "http://127.0.0.1/dashboard/models";

/** The message for an unknown model, if there are so many. */
function messageAmong(count: number): string {
  const world = createWorld({ lastHeardMs: () => null });
  const price = { ...PRICE, id: 1n, version: 1, schedule: [], batch: null };
  const names = Array.from({ length: count }, (_, index) => `large-${String(index).padStart(3, "0")}`);
  const models = names.map((name) => ({ model: catalogueModel(name), price }));
  world.apply({ accounts: [], keys: [], models, unreadable: [] });
  try {
    chooseModel({ world, key: worldKey(), protocol: "chat", modelsUrl, name: "unknown" });
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
