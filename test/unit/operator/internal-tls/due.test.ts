import { expect, test } from "vitest";
import { DAY_MS, HOUR_MS } from "../../../../contract/days.ts";
import { whyDue } from "../../../../operator/internal-tls/due.ts";
import { makeCertificates } from "../../../support/servers/tls-certificates.ts";

test("a certificate is due before it ends, and if the clock was set back to before its beginning (S43)", async () => {
  const part = await makeCertificates("gateway");
  const at = (nowMs: number) =>
    whyDue(part, { signer: part.ca, trusted: part.ca, host: "gateway", nowMs, renewBeforeMs: HOUR_MS });
  expect(at(Date.now())).toBeNull();
  expect(at(Date.now() + 10 * DAY_MS)).toBe("it ends soon");
  expect(at(Date.now() - DAY_MS)).toBe("it was issued by a clock that was ahead");
});
