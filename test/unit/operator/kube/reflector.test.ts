import { afterEach, expect, test, vi } from "vitest";
import { KubeError } from "../../../../operator/kube/kube-error.ts";
import { startReflector, type Reflector } from "../../../../operator/kube/reflector.ts";

/** The reflector against a scripted API server; test/kube/operator has a real one. */
let reflector: Reflector;
afterEach(() => reflector.stop());

const object = (name: string, resourceVersion: string) => ({
  metadata: { name, namespace: "team-a", uid: `uid-${name}`, resourceVersion, managedFields: [{ manager: "kubectl" }] },
});
const event = (type: string, name: string, resourceVersion: string) => ({ type, object: object(name, resourceVersion) });

interface Script {
  lists: object[];
  /** Lines of each watch; an Error ends it so. */
  watches: (object | Error)[][];
}

function start({ lists, watches }: Script) {
  const asked: string[] = [];
  const changes: string[] = [];
  const failures: number[] = [];
  const never = Promise.withResolvers<void>();
  reflector = startReflector({
    kind: "models",
    namespace: "team-a",
    random: () => 0,
    backOff: { firstMs: 1, maxMs: 2 },
    onChange: (key) => void changes.push(key),
    events: {
      relisted: () => undefined,
      watchEnded: (end) => void failures.push(end.failures),
      eventSeen: () => undefined,
    },
    client: {
      async send({ query = {} }) {
        asked.push(`list ${query["continue"] ?? ""}`.trim());
        return lists.shift();
      },
      async *watch({ query, signal }) {
        asked.push(`watch from ${query["resourceVersion"]}`);
        const lines = watches.shift();
        for (const line of lines ?? []) {
          if (line instanceof Error) throw line;
          yield line;
        }
        if (lines !== undefined) return;
        signal.addEventListener("abort", () => never.resolve());
        await never.promise;
      },
    },
  });
  return {
    asked,
    changes,
    failures,
    until: (steps: string[]) => vi.waitFor(() => expect(asked).toEqual(steps), { timeout: 30_000 }),
  };
}

const list = (resourceVersion: string, items: object[], token?: string) => ({
  metadata: { resourceVersion, ...(token === undefined ? {} : { continue: token }) },
  items,
});

test("a list is paged, and the watch continues from its end", async () => {
  const { changes, until } = start({
    lists: [list("5", [object("a", "1")], "more"), list("5", [object("b", "2")])],
    watches: [],
  });
  await until(["list", "list more", "watch from 5"]);
  await reflector.synced;
  expect(changes).toEqual(["team-a/a", "team-a/b"]);
});

test("a watch that ends or breaks resumes from the last event or bookmark", async () => {
  const bookmark = { type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } };
  const { changes, until } = start({
    lists: [list("5", [object("a", "1")])],
    watches: [
      [event("MODIFIED", "a", "6"), event("ADDED", "b", "7")],
      [event("DELETED", "a", "8"), bookmark, new Error("reset")],
      [new Error("refused")],
    ],
  });
  await until(["list", "watch from 5", "watch from 7", "watch from 9", "watch from 9"]);
  expect(changes).toEqual(["team-a/a", "team-a/a", "team-a/b", "team-a/a"]);
  expect([...reflector.values()].map(({ metadata }) => metadata.name)).toEqual(["b"]);
});

test.for([
  ["as an event", { type: "ERROR", object: { code: 410, reason: "Expired" } }],
  ["as an answer", new KubeError(410, { reason: "Expired", message: "" })],
] as const)("a version that the server has forgotten is listed again: reported %s", async ([, gone]) => {
  const { changes, until } = start({
    lists: [list("5", [object("a", "1"), object("b", "2"), object("c", "3")]), list("20", [object("a", "1"), object("b", "12")])],
    watches: [[gone]],
  });
  await until(["list", "watch from 5", "list", "watch from 20"]);
  // Only what differs is told: b has changed, c has gone.
  expect(changes.slice(3)).toEqual(["team-a/b", "team-a/c"]);
  expect(reflector.get("team-a/c")).toBeUndefined();
});

test("a watch that is ended right after its start is a failure, so the next one waits", async () => {
  const { until, failures } = start({ lists: [list("5", [])], watches: [[], [event("ADDED", "a", "6")], []] });
  await until(["list", "watch from 5", "watch from 5", "watch from 6", "watch from 6"]);
  expect(failures).toEqual([1, 2, 3]);
});

test("a failed list is retried, and until then nothing is synced", async () => {
  const { until } = start({ lists: [{ kind: "Status" }, list("5", [])], watches: [] });
  await until(["list", "list", "watch from 5"]);
  await reflector.synced;
});
