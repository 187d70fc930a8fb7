import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { apiKey } from "./resources.ts";
import { PATIENCE } from "./stage.ts";
import { useStage } from "./use-stage.ts";

/** What ApiKeys say while Postgres is away. */
const { stage } = useStage("operator-0");
const until = <T>(work: () => Promise<T>) => eventually(work, PATIENCE);

const ready = async (name: string) => (await stage().team.conditions("apikey", name))["Ready"];

test("an ApiKey created while Postgres is unavailable reports what it waits for; existing ones stay unchanged", async () => {
  const { team } = stage();
  await team.apply(apiKey("before"));
  await until(async () => expect(await ready("before")).toMatchObject({ status: "True" }));
  const before = await team.writes("apikey", "before");
  await stage().withoutPostgres(async () => {
    await team.apply(apiKey("during"));
    // Looked at again, for a reason that changes nothing about it.
    await team.run(["label", "secret", "before", "touched=yes"]);
    await until(async () =>
      expect(await ready("during")).toMatchObject({
        status: "False",
        reason: "ReconcileFailed",
        message: "the ledger's database cannot be used at the moment; the operator's log says why; the operator keeps trying",
      }),
    );
    await until(async () => expect(await team.events("during")).toContain("Warning ReconcileFailed"));
    expect(await team.writes("apikey", "before")).toBe(before);
  });
  await until(async () => expect(await ready("during")).toMatchObject({ status: "True", reason: "Active" }));
  await until(async () => expect(await team.events("during")).toContain("Normal Active"));
});
