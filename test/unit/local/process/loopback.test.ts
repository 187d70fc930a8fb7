import { expect, test } from "vitest";
import { checkLoopback } from "../../../../local/process/ports.ts";

test("a machine without the loopback address gets the remedy", async () => {
  await expect(checkLoopback()).resolves.toBeUndefined();
  // Of a range that no machine has (RFC 5737).
  await expect(checkLoopback("192.0.2.1")).rejects.toThrow(
    "This machine has no address 192.0.2.1, over which the gateway's processes communicate: bring it up with ip link set lo up",
  );
});
