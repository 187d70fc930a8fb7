import { expect, onTestFinished, test } from "vitest";
import { startKubeSource } from "../../../../operator/source/kube/kube-source.ts";
import { eventually } from "../../../support/eventually.ts";

/** The source against a scripted API server with one Model; test/kube/operator has a real one. */
async function start(spec: object, clock = { nowMs: () => Date.now() }) {
  const metadata = { name: "modelx", namespace: "team-a", uid: "1", resourceVersion: "1", generation: 1 };
  const object = {
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "Model",
    metadata,
    spec: { modelName: "modelx", pricing: { inputPerMillion: "1", outputPerMillion: "2" }, ...spec },
  };
  const requested: string[] = [];
  const nothing = () => undefined;
  const source = startKubeSource({
    client: {
      async send({ path }) {
        const name = path.split("/").at(-1) ?? "";
        if (name === "models") return { metadata: { resourceVersion: "1" }, items: [object] };
        requested.push(name);
        return { data: { "api-key": "a2V5", "ca.crt": "cm9vdHM=" } };
      },
      async *watch({ signal }) {
        yield* [];
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
      close: nothing,
    },
    namespaces: ["team-a"],
    isLeader: () => false,
    recorder: { record: nothing },
    ownership: {
      claim: async () => ({ kind: "own" }),
      condition: () => ({ type: "Managed", isTrue: true, reason: "Managed", message: "" }),
    },
    clock,
    steady: { nowMs: () => performance.now() },
    events: {
      kubeAnswered: nothing,
      relisted: nothing,
      watchEnded: nothing,
      eventSeen: nothing,
      poolUnreadable: nothing,
      secretUnreadable: nothing,
      reconciled: nothing,
      queueLength: nothing,
      leading: nothing,
      leaseUnreachable: nothing,
      eventLost: nothing,
      peersUnreachable: nothing,
      orphanRevoked: nothing,
      resourceRefused: nothing,
      sourceUnreadable: nothing,
      sourceReadable: nothing,
    },
    onChange: nothing,
    times: { secretsMs: 20 },
  });
  onTestFinished(() => source.stop());
  await source.synced;
  return { source, requested };
}

const backend = { name: "one", protocol: "Messages", url: "https://one.example", credentialRef: { name: "provider" } };

test("the Secrets of a Model include those of its guardrail", async () => {
  const guardrail = { url: "https://hook.example/v1", credentialRef: { name: "hook" }, tls: { caSecretRef: { name: "roots" } } };
  const { source } = await start({ backends: [backend], guardrail });
  expect([...source.current().secrets.keys()].toSorted()).toEqual(["team-a/hook", "team-a/provider", "team-a/roots"]);
});

test("a clock that is set back does not keep Secrets from being read again", async () => {
  let wallMs = Date.now();
  const { requested } = await start({ backends: [backend] }, { nowMs: () => wallMs });
  wallMs -= 3_600_000;
  const before = requested.length;
  await eventually(async () => expect(requested.length).toBeGreaterThan(before + 3));
});
