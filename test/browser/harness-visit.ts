import { mkdir } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { expect } from "vitest";
import { gravePartsOf } from "./harness-axe.ts";

const DEVICES = {
  desktop: { viewport: { width: 1280, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
} as const;
export type Device = keyof typeof DEVICES;
export type Scheme = "light" | "dark";

export interface VisitOptions {
  baseUrl: string;
  device?: Device;
  scheme?: Scheme;
  hasScript?: boolean;
}

/** Somebody at a browser of their own. */
export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the browser complained of: a failed script, a refused style, a missing file. */
  readonly complaints: readonly string[];
  /**
   * Looks at the page as it is: nothing that shuts somebody out (axe: serious and critical), nothing wider than the
   * screen. With SCREENSHOTS set to a folder, a picture of the whole page goes there.
   */
  look(name: string): Promise<void>;
  close(): Promise<void>;
}

const PATIENCE_MS = 30_000;

export async function visit(browser: Browser, options: VisitOptions): Promise<Visit> {
  const { baseUrl, device = "desktop", scheme = "light", hasScript = true } = options;
  const context = await browser.newContext({
    baseURL: baseUrl,
    ...DEVICES[device],
    colorScheme: scheme,
    reducedMotion: "reduce",
    javaScriptEnabled: hasScript,
    permissions: ["clipboard-read", "clipboard-write"],
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });

  async function takePicture(name: string): Promise<void> {
    const folder = process.env["SCREENSHOTS"];
    if (folder === undefined || folder === "") return;
    await mkdir(folder, { recursive: true });
    await page.screenshot({ path: path.join(folder, `${name}-${device}-${scheme}.png`), fullPage: true });
  }

  return {
    page,
    context,
    complaints,
    async look(name) {
      await takePicture(name);
      expect(await overflowOf(page), `${name} is wider than the screen`).toBeLessThanOrEqual(0);
      if (!hasScript) return;
      const found = await gravePartsOf(page);
      expect(found, `${name}, ${device}, ${scheme}`).toEqual([]);
    },
    close: () => context.close(),
  };
}

/** By how many CSS pixels the page can be scrolled to the side. */
async function overflowOf(page: Page): Promise<number> {
  const width = page.viewportSize()?.width ?? 0;
  const box = await page.locator("html").evaluate((element) => element.scrollWidth);
  return box - width;
}
