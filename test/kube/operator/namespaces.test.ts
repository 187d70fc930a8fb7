import { beforeAll, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { applyAccess, OPERATOR, TEAM } from "./install.ts";
import { apiKey, createTeam, model, secret, type Team } from "./resources.ts";
import { PATIENCE } from "./stage.ts";
import { useStageIn } from "./use-stage.ts";

/** What becomes of a namespace that is watched: deleted, without rights, and made again. */
const OTHER = "team-b";
const CLUSTER_ACCESS = `${OPERATOR.namespace}.${OPERATOR.name}`;
const { stage, api } = useStageIn([TEAM, OTHER], "operator-0");
const until = <T>(work: () => Promise<T>) => eventually(work, PATIENCE);
const inOther = <T extends object>(object: T) => ({ ...object, metadata: { ...metadataOf(object), namespace: OTHER } });
let other: Team;
let key = "";

beforeAll(async () => {
  other = createTeam(api(), OTHER);
  await stage().team.apply(apiKey("client"));
  key = await until(async () => (await stage().team.value("client")) ?? "");
});

function metadataOf(object: object): object {
  return "metadata" in object && typeof object.metadata === "object" && object.metadata !== null ? object.metadata : {};
}

async function expectReady(team: Team, kind: "model" | "apikey", name: string): Promise<void> {
  await until(async () => expect((await team.conditions(kind, name))["Ready"]).toMatchObject({ status: "True" }));
}

async function expectServed(name: string): Promise<void> {
  await until(async () => expect((await stage().ask(key, name)).status).toBe(200));
}

/** What the namespace controller does to a namespace that is deleted, in an order of its own: rights may go first. */
async function emptyNamespace(): Promise<void> {
  await api().kubectl(["delete", "namespace", OTHER, "--wait=false"]);
  for (const kind of ["rolebindings", "roles", "secrets", "models"]) await other.run(["delete", kind, "--all"]);
  await other.run(["delete", "apikeys", "--all", "--timeout=60s"]);
}

async function finishNamespace(): Promise<void> {
  const gone = { apiVersion: "v1", kind: "Namespace", metadata: { name: OTHER }, spec: { finalizers: [] } };
  const path = `/api/v1/namespaces/${OTHER}/finalize`;
  await api().kubectl(["replace", "--raw", path, "--filename", "-"], { input: JSON.stringify(gone) });
}

test("the ApiKeys of a deleted namespace are revoked and released, although its Role was deleted first", async () => {
  await other.apply(inOther(apiKey("leaving")), inOther(model("leaving", { url: stage().upstreamUrl })));
  await expectReady(other, "apikey", "leaving");
  const value = (await other.value("leaving")) ?? "";
  await until(async () => expect((await stage().ask(value, "leaving")).status).toBe(200));
  await emptyNamespace();
  expect((await stage().ask(value, "leaving")).status).toBe(401);
});

test("an operator that starts while the namespace is being deleted becomes ready, and serves the others", async () => {
  const next = await stage().startOperator("operator-1");
  stage().switchboard.lead(next.xdsSocket);
  await stage().team.apply(model("meanwhile", { url: stage().upstreamUrl }));
  await expectServed("meanwhile");
  await stage().team.remove("model", "meanwhile");
});

test("a recreated namespace is picked up without a restart; until its Role exists, its resources report what is missing", async () => {
  await finishNamespace();
  await api().kubectl(["create", "namespace", OTHER]);
  const backend = { credentialRef: { name: "provider" } };
  await other.apply(
    inOther(secret("provider", { "api-key": "provider-key" })),
    inOther(apiKey("again")),
    inOther(model("again", { url: stage().upstreamUrl, backend })),
  );
  await until(async () => {
    expect((await other.conditions("apikey", "again"))["Ready"]).toMatchObject({
      status: "False",
      reason: "ReconcileFailed",
      message: expect.stringMatching(/secrets.* is forbidden.*"helm upgrade" restores the operator's Role/),
    });
    expect((await other.conditions("model", "again"))["Ready"]).toMatchObject({
      status: "False",
      reason: "SecretForbidden",
      message: expect.stringContaining("Secret team-b/provider cannot be read"),
    });
  });
  await stage().team.apply(model("unhindered", { url: stage().upstreamUrl }));
  await expectServed("unhindered");

  await applyAccess(api(), [TEAM, OTHER]);
  await expectReady(other, "apikey", "again");
  await expectReady(other, "model", "again");
  await expectServed("again");
});

test("an operator that may list only one namespace serves that one, and the other once it may", async () => {
  await api().kubectl(["delete", "clusterrolebinding", CLUSTER_ACCESS]);
  const binding = ["create", "rolebinding", "only-here", `--clusterrole=${CLUSTER_ACCESS}`];
  await stage().team.run([...binding, `--serviceaccount=${OPERATOR.namespace}:${OPERATOR.name}`]);
  const next = await stage().startOperator("operator-2");
  for (const operator of stage().operators) if (operator !== next) await operator.end("SIGTERM");
  stage().switchboard.lead(next.xdsSocket);
  await until(async () => expect(await next.isLeader()).toBe(true));
  await stage().team.apply(model("alone", { url: stage().upstreamUrl }));
  await expectServed("alone");
  // Its key is not taken for one whose ApiKey is gone.
  const value = (await other.value("again")) ?? "";
  expect((await stage().ask(value, "alone")).status).toBe(200);

  await applyAccess(api(), [TEAM, OTHER]);
  await expectServed("again");
});
