import { beforeAll, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { OPERATOR, TEAM } from "./install.ts";
import { apiKey, createTeam, model, type Team } from "./resources.ts";
import { PATIENCE } from "./stage.ts";
import { useStageIn } from "./use-stage.ts";

/** What becomes of a namespace that is no longer watched. */
const LEFT = "team-b";
const { stage, api } = useStageIn([TEAM, LEFT], "operator-0");
const until = <T>(work: () => Promise<T>) => eventually(work, PATIENCE);
let left: Team;
let value = "";

beforeAll(async () => {
  left = createTeam(api(), LEFT);
  await left.apply({ ...apiKey("left"), metadata: { name: "left", namespace: LEFT } });
  value = await until(async () => (await left.value("left")) ?? "");
  await stage().team.apply(model("served", { url: stage().upstreamUrl }));
  await until(async () => expect((await stage().ask(value, "served")).status).toBe(200));
  // What helm upgrade does after the namespace was taken out of watchNamespaces.
  const next = await stage().startOperator("operator-1", [TEAM]);
  for (const operator of stage().operators) if (operator !== next) await operator.end("SIGTERM");
  stage().switchboard.lead(next.xdsSocket);
  for (const kind of ["role", "rolebinding"]) await left.run(["delete", kind, `${OPERATOR.namespace}.${OPERATOR.name}`]);
  await until(async () => expect(await next.isLeader()).toBe(true));
});

test("its keys stay valid", async () => {
  await until(async () => expect((await stage().ask(value, "served")).status).toBe(200));
});

test("an ApiKey that is deleted there is revoked and released (S35)", async () => {
  await left.run(["delete", "apikey", "left", "--timeout=60s"]);
  expect((await stage().ask(value, "served")).status).toBe(401);
});
