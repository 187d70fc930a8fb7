import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { launchChromium } from "../support/chromium/chromium.ts";

test("a freshly unpacked Chromium uses its bundled font, whatever fonts the machine has", async () => {
  const cache = await mkdtemp(path.join(tmpdir(), "gateway chromium & fonts-"));
  onTestFinished(() => rm(cache, { recursive: true, force: true, maxRetries: 5 }));
  const browser = await launchChromium({ ...process.env, XDG_CACHE_HOME: cache });
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  await page.setContent("<p style=\"font-family: 'Open Sans'\">Some text</p>");

  const session = await page.context().newCDPSession(page);
  await session.send("DOM.enable");
  await session.send("CSS.enable");
  const { root } = await session.send("DOM.getDocument");
  const { nodeId } = await session.send("DOM.querySelector", { nodeId: root.nodeId, selector: "p" });
  const { fonts } = await session.send("CSS.getPlatformFontsForNode", { nodeId });
  expect(fonts.map(({ familyName }) => familyName)).toEqual(["Open Sans"]);
});
