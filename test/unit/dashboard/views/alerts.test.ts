import { expect, test } from "vitest";
import { alerts } from "../../../../dashboard/views/overview/alerts.ts";

test.for([
  ["declined", "the card was declined."],
  ["returned", "a payment was refunded or disputed."],
] as const)("the overview says why automatic top-up is off: %s", ([stoppedBecause, words]) => {
  const balance = { postedNanoUsd: 1n, leasedNanoUsd: 0n, overdraftNanoUsd: 0n };
  const autoTopUp = {
    isOn: false,
    belowNanoUsd: 1n,
    amountNanoUsd: 1n,
    monthlyNanoUsd: 1n,
    chargedNanoUsd: 0n,
    isCharging: false,
    stoppedBecause,
  };
  expect(alerts({ balance, alertNanoUsd: null, activity: undefined, autoTopUp })).toContain(`Automatic top-up is off: ${words}`);
});
