import { expect, test } from "vitest";
import { readComplaint } from "../../../../local/process/complaint.ts";

test("the message of a warning or an error is shown, the rest of its line is not", () => {
  expect(
    readComplaint('{"level":"warn","time":"2026-01-01","secretly":"x","msg":"models.yaml: price must be a decimal"}'),
  ).toEqual({
    message: "models.yaml: price must be a decimal",
  });
  expect(readComplaint('{"level":"error","msg":"gone"}')).toEqual({ message: "gone" });
});

test("of a model server's error, its status and path are shown, and what to check", () => {
  const failure = { level: "warn", requestId: "r", model: "some-model", upstreamStatus: 404, upstreamPath: "/chat/completions" };
  const message = "error from the model server";
  expect(readComplaint(JSON.stringify({ ...failure, msg: message }))).toEqual({
    message,
    detail: "some-model: 404 at /chat/completions; check its base URL and the model's name",
  });
  expect(readComplaint(JSON.stringify({ ...failure, upstreamStatus: null, msg: message }))).toEqual({
    message,
    detail: "some-model: no answer at /chat/completions; check its base URL, and that it runs",
  });
  expect(readComplaint(JSON.stringify({ ...failure, upstreamStatus: 401, msg: message }))?.detail).toMatch(/; check its key$/);
  expect(readComplaint(JSON.stringify({ ...failure, upstreamStatus: 500, msg: message }))?.detail).toBe(
    "some-model: 500 at /chat/completions",
  );
});

test("of a folder of manifests that cannot be read, the reason is shown, which names it", () => {
  const reason = "ENOENT: no such file or directory, scandir '/data/manifests'";
  const line = { level: "warn", source: "/data/manifests", err: { type: "Error", message: reason }, msg: "failed to read" };
  expect(readComplaint(JSON.stringify(line))).toEqual({ message: "failed to read", detail: reason });
});

test("the end of an outage is shown", () => {
  expect(readComplaint('{"level":"info","failures":40,"isRecovery":true,"msg":"settling works again"}')).toEqual({
    message: "settling works again",
  });
});

test("other lines are not shown", () => {
  expect(readComplaint('{"level":"info","msg":"ready","note":"\\"level\\":\\"warn\\""}')).toBeUndefined();
  expect(readComplaint('    at somewhere "level":"warn"')).toBeUndefined();
});

test("Envoy's errors are shown, its warnings are not", () => {
  expect(readComplaint("[2026-11-21 03:00:00.000][12][critical][main] [source/server/server.cc:1] cannot bind")).toEqual({
    message: "cannot bind",
  });
  expect(readComplaint("[2026-11-21 03:00:00.000][12][warning][config] [source/x.cc:1] stream closed")).toBeUndefined();
});
