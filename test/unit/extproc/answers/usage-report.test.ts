import { expect, onTestFinished, test, vi } from "vitest";
import { createUsageReport } from "../../../../extproc/answers/usage-report.ts";

test("a report that the database does not answer ends before Envoy's patience does", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const hang = () => new Promise<never>(() => {});
  const { byModelAndDay } = createUsageReport({ query: hang });
  const report = byModelAndDay({ accountId: "a", keyId: "k", fromDay: "2026-11-01", toDay: "2026-11-30" });
  await Promise.all([
    expect(report).rejects.toMatchObject({ code: "billing_unavailable", headers: { "retry-after": "5" } }),
    vi.advanceTimersByTimeAsync(9_000),
  ]);
  expect(vi.getTimerCount()).toBe(0);
});
