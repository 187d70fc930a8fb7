import { beforeAll, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { applyAccess, TEAM } from "./install.ts";
import { apiKey, model, secret } from "./resources.ts";
import { PATIENCE } from "./stage.ts";
import { startTraffic } from "./traffic.ts";
import { useStage } from "./use-stage.ts";

/** Models whose Secret an operator may not read: one that has read it, and one that starts then. */
const { stage, api } = useStage("operator-0");
const until = <T>(work: () => Promise<T>) => eventually(work, PATIENCE);
let key = "";

beforeAll(async () => {
  const { team, upstreamUrl } = stage();
  const backend = { credentialRef: { name: "provider" } };
  await team.apply(
    apiKey("client"),
    secret("provider", { "api-key": "provider-key" }),
    secret("aws", { "access-key-id": "AKIDEXAMPLE", "secret-access-key": "signing-key" }),
    model("held", { url: upstreamUrl, backend }),
    model("signed", {
      url: upstreamUrl,
      backend: { credential: { aws: { region: "us-east-1", secretRef: { name: "aws" } } } },
    }),
  );
  key = await until(async () => (await team.value("client")) ?? "");
  await expectServed("held");
  await expectServed("signed");
});

async function expectServed(name: string): Promise<void> {
  await until(async () => expect((await stage().ask(key, name)).status).toBe(200));
}

async function expectCondition(name: string, type: string, expected: object): Promise<void> {
  await until(async () => expect((await stage().team.conditions("model", name))[type]).toMatchObject(expected));
}

test("a Secret that cannot be read any more is reported, and its Model is served with its last value", async () => {
  await api().kubectl(["delete", "rolebindings", "--all", "--namespace", TEAM]);
  await expectCondition("held", "ResolvedRefs", {
    status: "False",
    reason: "SecretForbidden",
    message: expect.stringMatching(
      /^backend primary: Secret team-a\/provider cannot be read: .*; its last value stays in force$/,
    ),
  });
  await expectCondition("held", "Ready", { status: "True" });
  await expectServed("held");
});

test("an operator that starts without the right to read it withdraws nothing, and applies the other Models", async () => {
  const { team, upstreamUrl, operators, switchboard } = stage();
  const traffic = ["held", "signed"].map((name) => startTraffic(stage(), { key, model: name }));
  const next = await stage().startOperator("operator-1");
  for (const operator of operators) if (operator !== next) await operator.end("SIGTERM");
  switchboard.lead(next.xdsSocket);
  await until(async () => expect(await next.isLeader()).toBe(true));
  for (const name of ["held", "signed"])
    await expectCondition(name, "Ready", {
      status: "False",
      reason: "SecretForbidden",
      message: expect.stringContaining("gateways that have its value keep using it"),
    });
  await team.apply(model("unhindered", { url: upstreamUrl }));
  await expectServed("unhindered");
  await team.remove("model", "unhindered");
  await until(async () => expect((await stage().ask(key, "unhindered")).status).toBe(404));
  for (const each of traffic) expect((await each.stop()).failed).toEqual([]);
});

test("once it can be read again its Model is ready, and it is withdrawn if the Secret is known to be gone", async () => {
  const { team } = stage();
  await applyAccess(api(), [TEAM]);
  await expectCondition("signed", "Ready", { status: "True" });
  await expectCondition("held", "Ready", { status: "True" });
  await expectServed("held");
  await team.remove("secret", "provider");
  await expectCondition("held", "Ready", { status: "False", reason: "SecretNotFound" });
  await until(async () => expect((await stage().ask(key, "held")).status).toBe(404));
});
