import { expect, test } from "vitest";
import { createBackendHealth } from "../../../../extproc/route/backend-health.ts";

const ERROR = { isRateLimit: false, retryAfterMs: null };

function setUp() {
  let nowMs = 1_000_000;
  const health = createBackendHealth({ clock: { nowMs: () => nowMs } });
  return { health, pass: (ms: number) => void (nowMs += ms) };
}

test("a backend is skipped from its third failure in a row, twice as long after each further one", () => {
  const { health, pass } = setUp();
  health.failed("a", ERROR);
  health.failed("a", ERROR);
  expect(health.restOf("a")).toBeNull();
  for (const restMs of [1_000, 2_000, 4_000, 8_000]) {
    health.failed("a", ERROR);
    pass(restMs - 1);
    expect(health.restOf("a")).not.toBeNull();
    pass(1);
    expect(health.restOf("a")).toBeNull();
  }
});

test("a backend is skipped for a minute at most", () => {
  const { health, pass } = setUp();
  for (let failure = 0; failure < 50; failure++) {
    pass(60_000);
    expect(health.restOf("a")).toBeNull();
    health.failed("a", ERROR);
  }
  pass(59_999);
  expect(health.restOf("a")).not.toBeNull();
});

test("many requests that fail together count as one failure", () => {
  const { health, pass } = setUp();
  for (let failure = 0; failure < 50; failure++) health.failed("a", ERROR);
  pass(1_000);
  expect(health.restOf("a")).toBeNull();
});

test("a server's retry-after is respected, whatever happens to requests in flight", () => {
  const { health, pass } = setUp();
  health.failed("a", { isRateLimit: true, retryAfterMs: 30_000 });
  health.succeeded("a");
  health.failed("a", ERROR);
  pass(29_999);
  expect(health.restOf("a")).toMatchObject({ isAsked: true });
  pass(1);
  health.began("a");
  health.succeeded("a");
  expect(health.restOf("a")).toBeNull();
});

test("a success in between restarts the count", () => {
  const { health } = setUp();
  for (let turn = 0; turn < 5; turn++) {
    health.failed("a", ERROR);
    health.failed("a", ERROR);
    health.succeeded("a");
  }
  expect(health.restOf("a")).toBeNull();
});

test("a rate limit skips the backend at once, for as long as it asks", () => {
  const { health, pass } = setUp();
  health.failed("a", { isRateLimit: true, retryAfterMs: null });
  expect(health.restOf("a")).toMatchObject({ leftMs: 1_000, isAsked: false });
  health.failed("b", { isRateLimit: true, retryAfterMs: 30_000 });
  expect(health.restOf("b")).toMatchObject({ leftMs: 30_000, isAsked: true });
  pass(30_000);
  expect(health.restOf("b")).toBeNull();
});

test("after a pause one request is the probe, and the others wait for it", () => {
  const { health, pass } = setUp();
  health.failed("a", { isRateLimit: true, retryAfterMs: 5_000 });
  pass(5_000);
  expect(health.restOf("a")).toBeNull();
  health.began("a");
  expect(health.restOf("a")).toMatchObject({ isAsked: false });
  health.succeeded("a");
  expect(health.restOf("a")).toBeNull();
});

test("a probe whose client left, or without a result, does not block others", () => {
  const { health, pass } = setUp();
  health.failed("a", { isRateLimit: true, retryAfterMs: 5_000 });
  pass(5_000);
  health.began("a");
  health.abandoned("a");
  expect(health.restOf("a")).toBeNull();
  health.began("a");
  pass(60_000);
  expect(health.restOf("a")).toBeNull();
});

test("a backend that never failed is not remembered", () => {
  const { health } = setUp();
  health.began("a");
  expect(health.restOf("a")).toBeNull();
});
