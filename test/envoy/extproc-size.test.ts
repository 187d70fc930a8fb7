import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startDataPlane } from "../support/data-plane.ts";
import { scrape } from "../support/metrics.ts";
import { startTestStack } from "../support/stack.ts";

const MEBIBYTE = 1024 * 1024;

test("an extproc that has nothing to do holds less than 120 MiB, from its second start on", async () => {
  const stack = await startTestStack();
  onTestFinished(() => stack.stop());
  const compiled = await mkdtemp(path.join(tmpdir(), "gateway-compiled-"));
  onTestFinished(() => rm(compiled, { recursive: true, force: true }));
  // The first start strips the types of every file, with a compiler that it does not let go of again.
  const plane = await startDataPlane(stack, { NODE_COMPILE_CACHE: compiled });
  onTestFinished(async () => void (await plane.stop()));
  await plane.endExtproc("SIGTERM");
  await plane.startExtproc();
  const metrics = await scrape(plane.extprocAdminUrl);
  expect((metrics.get("process_resident_memory_bytes") ?? Infinity) / MEBIBYTE).toBeLessThan(120);
});
