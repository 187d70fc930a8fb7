import { expect, test } from "vitest";
import { createSecretPoll } from "../../../../operator/apikey/secret-poll.ts";
import { KubeError } from "../../../../operator/kube/kube-error.ts";

const objectOf = (name: string) => ({
  metadata: { name, namespace: "team-a", uid: `uid-${name}`, resourceVersion: "1", generation: 1, finalizers: [] },
});

test("a Secret that the API server cannot give does not keep changes of the others from being noticed", async () => {
  const names = ["a", "b", "lost", "d", "e", "f"];
  const versions = new Map(names.map((name) => [name, "1"]));
  let changed: string[] = [];
  const { poll } = createSecretPoll({
    client: {
      async send({ path }) {
        const resourceVersion = versions.get(path.split("/").at(-1) ?? "");
        if (resourceVersion !== undefined) return { metadata: { resourceVersion } };
        throw new KubeError(500, { reason: "InternalError", message: "unable to transform key" });
      },
    },
    objects: () => names.map(objectOf),
    isLeader: () => true,
    onChange: (key) => void changed.push(key),
    pauseMs: 1,
  });
  const { signal } = new AbortController();
  await poll(signal);
  versions.delete("lost");
  versions.set("f", "2");
  changed = [];
  await expect(poll(signal)).rejects.toThrow("unable to transform key");
  expect(changed).toEqual(["team-a/f"]);
  // Nor is it taken for changed when it can be read again.
  versions.set("lost", "1");
  changed = [];
  await poll(signal);
  expect(changed).toEqual([]);
});

test("a Secret that appeared and was deleted between two polls, and was decided by, is noticed", async () => {
  let changed: string[] = [];
  const { poll, noteObserved } = createSecretPoll({
    client: {
      async send() {
        throw new KubeError(404, { reason: "NotFound", message: "not found" });
      },
    },
    objects: () => [objectOf("a"), objectOf("b")],
    isLeader: () => true,
    onChange: (key) => void changed.push(key),
    pauseMs: 1,
  });
  const { signal } = new AbortController();
  await poll(signal);
  noteObserved("team-a/a", { kind: "foreign", resourceVersion: "7" });
  noteObserved("team-a/b", { kind: "missing" });
  changed = [];
  await poll(signal);
  expect(changed).toEqual(["team-a/a"]);
  await poll(signal);
  expect(changed).toEqual(["team-a/a"]);
});
