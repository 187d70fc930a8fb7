import { expect, test } from "vitest";
import { useHelm } from "../support/kube/use-helm.ts";
import { EXTERNAL_DATABASE, render, title } from "./harness-render.ts";

/** extproc records prompts and the dashboard offers that, by one value (S60). */
const helm = useHelm();

test.for([
  [{}, "10240"],
  [{ promptLog: { maxMib: 0 } }, "0"],
  // Helm writes large numbers with an exponent.
  [{ promptLog: { maxMib: 16_777_216 } }, "16777216"],
] as const)("with %j, both programs keep as many MiB: %s", async ([values, mebibytes]) => {
  const objects = await render(helm(), { ...EXTERNAL_DATABASE, ...values });
  const setting = `{"name":"MAX_PROMPT_LOG_MIB","value":"${mebibytes}"}`;
  const having = objects.filter((object) => JSON.stringify(object).includes(setting)).map(title);
  expect(new Set(having.map((name) => name.split("-").at(-1)))).toEqual(new Set(["dashboard", "gateway"]));
  expect(objects.filter((object) => JSON.stringify(object).includes("MAX_PROMPT_LOG_MIB"))).toHaveLength(2);
});
