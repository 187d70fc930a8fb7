import { expect, onTestFinished, test } from "vitest";
import { startLeaseRenewal } from "../../../../extproc/credit/lease-renewal.ts";
import { createLog } from "../../../../runtime/log.ts";
import { eventually } from "../../../support/eventually.ts";

test("a turn without a query does not report that the database is back", async () => {
  const lines: string[] = [];
  let reaps = 0;
  let isAway = true;
  const renewal = startLeaseRenewal({
    // There are no leases to keep.
    credit: { keepLeases: () => Promise.resolve() },
    reaper: {
      reap() {
        reaps += 1;
        return isAway ? Promise.reject(new Error("refused")) : Promise.resolve();
      },
    },
    log: createLog({ process: "test", level: "info" }, { write: (line: string) => void lines.push(line) }),
    everyMs: 1,
  });
  onTestFinished(() => renewal.stop());
  await eventually(() => expect(reaps).toBeGreaterThan(3));
  expect(lines.map((line) => /"level":"(\w+)"/.exec(line)?.[1])).toEqual(["warn"]);
  isAway = false;
  await eventually(() => expect(lines.at(-1)).toContain("credit leases are renewed again"));
});

test("leases of ended processes are ended even if one of this process's cannot be returned", async () => {
  const lines: string[] = [];
  let reaps = 0;
  const renewal = startLeaseRenewal({
    credit: { keepLeases: () => Promise.reject(new Error("somebody holds the balance")) },
    reaper: {
      async reap() {
        reaps += 1;
      },
    },
    log: createLog({ process: "test", level: "info" }, { write: (line: string) => void lines.push(line) }),
    everyMs: 1,
  });
  onTestFinished(() => renewal.stop());
  await eventually(() => expect(reaps).toBeGreaterThan(1));
  expect(lines.join()).toContain("somebody holds the balance");
  expect(lines.join()).not.toContain("renewed again");
});
