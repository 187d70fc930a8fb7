import { expect, test } from "vitest";
import { KubeError } from "../../../../operator/kube/kube-error.ts";
import { createSecretStore } from "../../../../operator/source/kube/secret-store.ts";

/** The store against a scripted API server; test/kube/operator has a real one. */
function start() {
  const broken = new Map<string, Error>();
  const logged: string[] = [];
  let nowMs = 0;
  const store = createSecretStore({
    client: {
      async send({ path }) {
        const name = path.split("/").at(-1) ?? "";
        const error = broken.get(name);
        if (error !== undefined) throw error;
        return { data: { key: Buffer.from(`of ${name}`).toString("base64") } };
      },
    },
    events: { secretUnreadable: ({ secret }) => void logged.push(secret) },
    clock: { nowMs: () => nowMs },
  });
  const names = (...all: string[]) => new Set(all.map((name) => `team-a/${name}`));
  return {
    store,
    broken,
    logged,
    value: (name: string) => store.get(`team-a/${name}`)?.get("key"),
    read: (...all: string[]) => store.read(names(...all), names(...all)),
    pass: (ms: number) => void (nowMs += ms),
  };
}

const internal = new KubeError(500, { reason: "InternalError", message: "unable to transform key" });

const forbidden = new KubeError(403, { reason: "Forbidden", message: "secrets is forbidden" });

test.for([
  { name: "cannot give", error: internal, reason: "SecretUnreadable" },
  { name: "may not give", error: forbidden, reason: "SecretForbidden" },
])("a Secret that the API server $name stays as it was known, which is reported if it lasts", async ({ error, reason }) => {
  const { store, broken, logged, value, read, pass } = start();
  await read("steady", "lost");
  broken.set("lost", error);
  await read("lost", "steady", "new");
  expect([value("lost"), value("new")]).toEqual(["of lost", "of new"]);
  expect([...store.unreadable]).toEqual([]);
  pass(20_000);
  await read("lost", "steady", "new");
  expect(value("lost")).toBe("of lost");
  expect([...store.unreadable]).toEqual([["team-a/lost", { reason, message: error.message }]]);
  expect(logged).toEqual(["team-a/lost"]);
  broken.clear();
  await read("lost", "steady", "new");
  expect([...store.unreadable]).toEqual([]);
});

test("every key that Kubernetes takes is a key of its values", async () => {
  const names = ["__proto__", "constructor", ".dot", "a_b-c.d"];
  const store = createSecretStore({
    // As a server's answer is parsed.
    client: { send: async () => JSON.parse(`{"data":{${names.map((name) => `"${name}":"dmFsdWU="`).join(",")}}}`) },
    events: { secretUnreadable: () => undefined },
    clock: { nowMs: () => 0 },
  });
  await store.read(new Set(["team-a/odd"]));
  expect(store.get("team-a/odd")).toEqual(new Map(names.map((name) => [name, "value"])));
});

test("one that was never read is waited for, then reported, and the others are not held up", async () => {
  const { store, broken, value, read, pass } = start();
  broken.set("lost", internal);
  await expect(read("lost", "steady")).rejects.toThrow("unable to transform key");
  pass(20_000);
  await read("lost", "steady");
  expect(value("steady")).toBe("of steady");
  expect(store.unreadable.get("team-a/lost")).toEqual({
    reason: "SecretUnreadable",
    message: "The Kubernetes API answered 500 InternalError: unable to transform key",
  });
});

test("if the API server can give none at all, nothing is withdrawn however long that lasts", async () => {
  const { broken, read, pass } = start();
  broken.set("first", internal).set("second", internal);
  await expect(read("first", "second")).rejects.toThrow("unable to transform key");
  pass(3_600_000);
  await expect(read("first", "second")).rejects.toThrow("unable to transform key");
});

test("no answer is an error, whatever was known", async () => {
  const { broken, value, read } = start();
  await read("steady");
  broken.set("steady", new Error("connect ECONNREFUSED"));
  await expect(read("steady")).rejects.toThrow("ECONNREFUSED");
  expect(value("steady")).toBe("of steady");
});
