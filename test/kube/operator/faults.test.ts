import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { useOwnKubeApi } from "../../support/kube/use-kube-api.ts";
import { makeCertificates, withLongLength } from "../../support/servers/tls-certificates.ts";
import { OPERATOR } from "./install.ts";
import type { OperatorProcess } from "./operator-process.ts";
import { apiKey, model, secret } from "./resources.ts";
import { PATIENCE } from "./stage.ts";
import { startTraffic } from "./traffic.ts";
import { useStageOn } from "./use-stage.ts";

/** What breaks around the operator, while a client asks again and again: none of it may fail one request. */
const api = useOwnKubeApi();
const stage = useStageOn(api, { operators: ["operator-0", "operator-1"] });
let key = "";

const until = <T>(work: () => Promise<T>) => eventually(work, PATIENCE);

beforeAll(async () => {
  const { team, upstreamUrl, ask } = stage();
  await team.apply(apiKey("client"), model("steady", { url: upstreamUrl }));
  key = await until(async () => (await team.value("client")) ?? "");
  await until(async () => expect((await ask(key, "steady")).status).toBe(200));
});

/** Those that run. */
async function roles(): Promise<{ leader: OperatorProcess; followers: OperatorProcess[] }> {
  return await until(async () => {
    const living = [];
    for (const operator of stage().operators)
      if (await operator.isReady()) living.push({ operator, leads: await operator.isLeader() });
    const leaders = living.filter(({ leads }) => leads);
    expect(leaders.length).toBe(1);
    const [leader] = leaders;
    if (leader === undefined) throw new Error("nobody leads");
    return { leader: leader.operator, followers: living.filter(({ leads }) => !leads).map(({ operator }) => operator) };
  });
}

async function only(operators: readonly OperatorProcess[]): Promise<OperatorProcess> {
  const [operator] = operators;
  if (operator === undefined) throw new Error("there is no other replica");
  return operator;
}

/** Makes a Model, and waits until the administrator is told that it is in force and a client is served. */
async function expectWorks(name: string): Promise<void> {
  const { team, upstreamUrl, ask } = stage();
  await team.apply(model(name, { url: upstreamUrl }));
  await until(async () => expect((await team.conditions("model", name))["Ready"]).toMatchObject({ status: "True" }));
  await until(async () => expect((await ask(key, name)).status).toBe(200));
  await team.remove("model", name);
}

/** Runs the work under traffic. */
async function withoutOneFailure(work: () => Promise<void>): Promise<void> {
  const traffic = startTraffic(stage(), { key, model: "steady" });
  try {
    await work();
  } finally {
    const { served, failed } = await traffic.stop();
    expect(failed).toEqual([]);
    expect(served).toBeGreaterThan(10);
  }
}

test("an Envoy of a replica that does not lead counts: the leader reports its rejections", async () => {
  const { team, upstreamUrl } = stage();
  const follower = await only((await roles()).followers);
  stage().switchboard.lead(follower.xdsSocket);
  await until(async () => expect(await follower.metric("gateway_operator_envoys")).toBe(1));
  await withoutOneFailure(async () => {
    await expectWorks("by-a-follower");
    const { ca } = await makeCertificates("models.example");
    await team.apply(secret("odd-roots", { "ca.crt": withLongLength(ca) }));
    const tls = { caSecretRef: { name: "odd-roots" } };
    await team.apply(model("nacked", { url: upstreamUrl.replace("http:", "https:"), backend: { tls } }));
    await until(async () =>
      expect((await team.conditions("model", "nacked"))["ResolvedRefs"]).toMatchObject({
        status: "False",
        reason: "InvalidCertificate",
        message: expect.stringContaining("Failed to load trusted CA certificates"),
      }),
    );
    await expectWorks("after-a-nack");
    await team.remove("model", "nacked");
  });
});

test("a broken discovery connection is restored", async () => {
  await withoutOneFailure(async () => {
    stage().switchboard.cut();
    await expectWorks("after-a-cut");
  });
});

test("when the API server is killed the last state stays active, and later changes are applied", async () => {
  await withoutOneFailure(async () => {
    await api().kill();
    await sleep(3_000);
    await api().restart();
    await expectWorks("after-the-kill");
  });
});

test("a replica that resumes from a compacted history lists again (410)", async () => {
  const { team, upstreamUrl } = stage();
  const follower = await only((await roles()).followers);
  const relists = 'gateway_operator_relists_total{kind="models"}';
  const before = await follower.metric(relists);
  // It sees nothing of what happens now: without the restart its socket would keep the events for it.
  process.kill(follower.pid, "SIGSTOP");
  try {
    await api().restart();
    await team.apply(model("unseen", { url: upstreamUrl }));
    await team.remove("model", "unseen");
    await team.apply(model("while-away", { url: upstreamUrl }));
    await api().compact();
    await api().restart();
  } finally {
    process.kill(follower.pid, "SIGCONT");
  }
  await until(async () => expect(await follower.metric(relists)).toBe(before + 1));
  stage().switchboard.lead(follower.xdsSocket);
  await until(async () => expect((await stage().ask(key, "while-away")).status).toBe(200));
  await team.remove("model", "while-away");
});

test("an API server that answers nothing for 40 seconds is waited for; the leader stops writing, and keeps serving", async () => {
  const { leader } = await roles();
  stage().switchboard.lead(leader.xdsSocket);
  await until(async () => expect(await leader.metric("gateway_operator_envoys")).toBe(1));
  await withoutOneFailure(async () => {
    const startedMs = performance.now();
    api().pause();
    await until(async () => expect(await leader.isLeader()).toBe(false));
    await sleep(40_000 - (performance.now() - startedMs));
    expect(await leader.isReady()).toBe(true);
    expect(await leader.metric("gateway_operator_envoys")).toBe(1);
    api().resume();
    await expectWorks("after-the-stall");
  });
});

test("when the leader is killed another replica leads, and service continues", async () => {
  const { leader, followers } = await roles();
  stage().switchboard.lead(leader.xdsSocket);
  await until(async () => expect(await leader.metric("gateway_operator_envoys")).toBe(1));
  await withoutOneFailure(async () => {
    await leader.end("SIGKILL");
    const follower = await only(followers);
    stage().switchboard.lead(follower.xdsSocket);
    await until(async () => expect(await follower.isLeader()).toBe(true));
    await expectWorks("after-the-leader");
  });
});

test("without any operator everything continues; the next one removes nothing, and revokes keys deleted by force", async () => {
  const { team } = stage();
  await team.apply(apiKey("forced"));
  const forced = await until(async () => (await team.value("forced")) ?? "");
  await until(async () => expect((await stage().ask(forced, "steady")).status).toBe(200));
  await withoutOneFailure(async () => {
    for (const operator of stage().operators) await operator.end("SIGTERM");
    await team.run(["delete", "apikey", "forced", "--wait=false"]);
    await team.patch("apikey", "forced", { metadata: { finalizers: null } });
    await sleep(5_000);
    const next = await stage().startOperator("operator-2");
    stage().switchboard.lead(next.xdsSocket);
    await until(async () => expect((await stage().ask(forced, "steady")).status).toBe(401));
    expect(await next.metric("gateway_operator_orphans_revoked_total")).toBe(1);
    await expectWorks("after-all");
  });
});

test("a leader that is asked to stop hands over the Lease immediately", async () => {
  const first = (await roles()).leader;
  const second = await stage().startOperator("operator-3");
  // It cannot take the Lease before this has looked at it.
  process.kill(second.pid, "SIGSTOP");
  try {
    expect(await first.end("SIGTERM")).toBe(0);
    expect(await api().kubectl(["get", "lease", OPERATOR.name, "--namespace", OPERATOR.namespace, "--output=json"])).toMatch(
      /"holderIdentity": "",\s+"leaseDurationSeconds": 1,/,
    );
  } finally {
    process.kill(second.pid, "SIGCONT");
  }
  await until(async () => expect(await second.isLeader()).toBe(true));
});
