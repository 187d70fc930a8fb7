import { expect, test, vi } from "vitest";
import type { Backend } from "../../../../contract/catalogue.ts";
import { GatewayError } from "../../../../contract/errors.ts";
import { PROFILES } from "../../../../contract/profile.ts";
import { startAttempts, withTried } from "../../../../extproc/fallback/attempts.ts";
import { createBackendHealth } from "../../../../extproc/route/backend-health.ts";
import type { Translation } from "../../../../extproc/translate/translation.ts";

const body = Buffer.from("{}");
const backends = ["a", "b", "c"].map((name): Backend => ({
  name,
  cluster: name,
  protocol: "chat",
  basePath: "",
  upstreamModel: name,
  weight: 1,
  priority: 0,
  profile: PROFILES.generic,
}));

function translation({ name }: Backend): Translation {
  return {
    upstream: { path: `/${name}`, body: name === "a" ? body : Buffer.from(name), headers: {} },
    dropped: [],
    wantsStream: false,
    response: (bytes) => bytes,
    stream: () => expect.unreachable(),
  };
}

const clock = { nowMs: () => 1_000 };

function setUp(translate: (backend: Backend) => Translation = translation, health = createBackendHealth({ clock })) {
  const attemptFailed = vi.fn();
  const attempts = startAttempts(
    { requestId: "r", model: { name: "modelx" }, backends, received: body, translate },
    { health, events: { attemptFailed }, clock },
  );
  return { attempts, health, attemptFailed };
}

const answer = (status: number, headers: Record<string, string> = {}, isLocalReply = false) => ({
  status,
  headers: new Map(Object.entries(headers)),
  isLocalReply,
});

test("each attempt has its own backend's body; an unchanged client body is passed on as received", () => {
  const { attempts } = setUp();
  const first = attempts.begin();
  expect(first.backend.name).toBe("a");
  expect(first.request()).toMatchObject({ isAsReceived: true });
  expect(first.answered(answer(500))).toBe("try_next");
  const second = attempts.begin();
  expect(second.backend.name).toBe("b");
  expect(second.request()).toMatchObject({ upstream: { path: "/b" }, isAsReceived: false });
  expect(second.answered(answer(200))).toBe("pass");
  expect([attempts.backend().name, attempts.tried(), attempts.failure()]).toEqual(["b", 2, null]);
  // Nothing is kept that could be sent again.
  expect([second.request(), attempts.begin().request()]).toEqual([null, null]);
});

test.for([400, 409, 413, 422, 200, 201])("a %i is the answer", (status) => {
  const { attempts, attemptFailed } = setUp();
  expect(attempts.begin().answered(answer(status))).toBe("pass");
  expect(attemptFailed).not.toHaveBeenCalled();
});

test.for([302, 401, 402, 403, 404, 408, 429, 500, 502, 503, 504, 529])("a %i is not: the next backend is asked", (status) => {
  const { attempts } = setUp();
  expect(attempts.begin().answered(answer(status))).toBe("try_next");
});

test.for([404, 405, 415, 501])(
  "a server that has no endpoint for what not all have is passed over, and not left alone: %i",
  (status) => {
    for (const optional of [{ optional: "edit images" }, {}]) {
      const health = createBackendHealth({ clock });
      for (let turn = 0; turn < 3; turn++) {
        const { attempts } = setUp((backend) => ({ ...translation(backend), ...optional }), health);
        expect(attempts.begin().answered(answer(status))).toBe("try_next");
      }
      expect(health.restOf("a") === null).toBe("optional" in optional);
    }
  },
);

test("the last backend's failure is passed on, with the number of servers tried", () => {
  const { attempts, attemptFailed } = setUp();
  expect(attempts.begin().answered(answer(503, {}, true))).toBe("try_next");
  expect(attempts.begin().timedOut()).toBe("try_next");
  expect(attempts.begin().answered(answer(503, {}, true))).toBe("pass");
  expect(attemptFailed.mock.calls.map(([{ backend, isLast }]) => [backend, isLast])).toEqual([
    ["a", false],
    ["b", false],
    ["c", true],
  ]);
  expect(attempts.failure()).toMatchObject({ code: "upstream_unavailable" });
  const error = withTried(new GatewayError("upstream_timeout", "Too late.", { headers: { "retry-after": "3" } }), attempts);
  expect(error).toMatchObject({ message: "Too late. 3 servers were tried.", headers: { "retry-after": "3" }, status: 504 });
});

test("Envoy's own reply about a backend is not a server's answer, and ends with the next attempt", () => {
  const { attempts } = setUp();
  attempts.begin().answered(answer(504, {}, true));
  expect(attempts.failure()).toMatchObject({ code: "upstream_timeout" });
  attempts.begin().answered(answer(429));
  expect(attempts.failure()).toBeNull();
});

test("the first end of an attempt counts: a late answer changes nothing", () => {
  const { attempts, attemptFailed } = setUp();
  const first = attempts.begin();
  first.timedOut();
  expect(first.answered(answer(200))).toBe("pass");
  first.abandoned();
  expect(attemptFailed).toHaveBeenCalledTimes(1);
  expect(attempts.failure()).not.toBeNull();
});

test("a server's retry-after is remembered, and a client that left counts against no server", () => {
  const { attempts, health } = setUp();
  attempts.begin().answered(answer(429, { "retry-after": "30" }));
  expect(health.restOf("a")).toMatchObject({ leftMs: 30_000, isAsked: true });
  for (let turn = 0; turn < 5; turn++) setUp().attempts.begin().abandoned();
  attempts.begin().abandoned();
  expect(health.restOf("b")).toBeNull();
});

test("backends that cannot express the request are skipped; if none can, the first one's error counts", () => {
  const only = (name: string) => (backend: Backend) => {
    if (backend.name !== name) throw new GatewayError("invalid_request", `not for ${backend.name}`);
    return translation(backend);
  };
  expect(setUp(only("c")).attempts.backend().name).toBe("c");
  expect(() => setUp(only("none"))).toThrow("not for a");
  const { attempts } = setUp(only("a"));
  expect(attempts.begin().answered(answer(500))).toBe("pass");
});

test("a bug in a translation is not mistaken for a request that cannot be expressed", () => {
  const broken = () => {
    throw new TypeError("a bug");
  };
  expect(() => setUp(broken)).toThrow(TypeError);
});
