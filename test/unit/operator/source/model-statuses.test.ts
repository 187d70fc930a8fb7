import { expect, onTestFinished, test } from "vitest";
import { KubeError } from "../../../../operator/kube/kube-error.ts";
import { kubeObjectSchema, type KubeObject } from "../../../../operator/kube/object.ts";
import type { ModelStatus } from "../../../../operator/model/status.ts";
import { startModelStatuses } from "../../../../operator/source/kube/model-statuses.ts";
import { eventually } from "../../../support/eventually.ts";

const READY: ModelStatus = {
  conditions: [{ type: "Programmed", isTrue: true, reason: "Programmed", message: "active in all connected Envoys" }],
  backends: [],
};

/** One Model in a scripted API server, and a watch that shows what the test lets it show. */
function start() {
  const metadata = { name: "modelx", namespace: "team-a", uid: "1", resourceVersion: "9", generation: 1 };
  let stored: KubeObject | undefined = kubeObjectSchema.parse({ metadata });
  let watched: KubeObject | undefined = stored;
  const now = { ms: Date.parse("2026-11-29T12:00:00Z") };
  const asked: string[] = [];
  const recorded: string[] = [];
  let rounds = 0;
  const statuses = startModelStatuses({
    client: {
      async send({ method, body }) {
        asked.push(method);
        if (stored === undefined) throw new KubeError(404, { reason: "NotFound", message: 'models "modelx" not found' });
        if (method === "PATCH") {
          const resourceVersion = String(Number(stored.metadata.resourceVersion) + 1);
          stored = kubeObjectSchema.parse({ ...stored, ...body?.content, metadata: { ...stored.metadata, resourceVersion } });
        }
        return structuredClone(stored);
      },
    },
    find: () => watched,
    isLeader: () => true,
    recorder: { record: ({ reason }) => void recorded.push(reason) },
    ownership: {
      claim: async () => ({ kind: "own" }),
      condition: () => ({ type: "Managed", isTrue: true, reason: "Managed", message: "" }),
    },
    clock: { nowMs: () => now.ms },
    events: { reconciled: () => void rounds++, queueLength: () => undefined },
  });
  onTestFinished(() => statuses.stop());
  return {
    now,
    asked,
    recorded,
    stored: () => stored,
    watch: () => void (watched = stored),
    remove: () => void (stored = undefined),
    async decide() {
      const before = rounds;
      statuses.decide(new Map([["team-a/modelx", { model: null, status: READY, version: "v1" }]]));
      await eventually(() => expect(rounds).toBe(before + 1));
    },
  };
}

test("a status is written once, and its times stay, however late the watch brings it", async () => {
  const { now, asked, recorded, stored, watch, decide } = start();
  await decide();
  expect([asked, recorded]).toEqual([["PATCH"], ["Ready"]]);
  const first = stored();
  now.ms += 3_600_000;
  await decide();
  expect([asked, recorded]).toEqual([["PATCH", "GET"], ["Ready"]]);
  expect(stored()).toBe(first);
  watch();
  await decide();
  expect(asked).toEqual(["PATCH", "GET"]);
});

test("nothing is written to a Model that is gone before the watch has said so", async () => {
  const { asked, remove, decide } = start();
  await decide();
  remove();
  await decide();
  expect(asked).toEqual(["PATCH", "GET"]);
});
