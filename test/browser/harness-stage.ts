import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { sharedChromium } from "../support/chromium/chromium.ts";
import { startTestStack, type TestStack } from "../support/stacks/stack.ts";
import { visit, type Visit, type VisitOptions } from "./harness-visit.ts";

/** The whole product for a file of tests, and a browser. */
export function useStage(): { stack: () => TestStack; visit: (options?: Omit<VisitOptions, "baseUrl">) => Promise<Visit> } {
  let stack: TestStack | undefined;
  let browser: Browser | undefined;
  const visits: Visit[] = [];

  beforeAll(async () => {
    [browser, stack] = await Promise.all([sharedChromium(), startTestStack()]);
  });
  afterAll(async () => {
    for (const { close } of visits) await close();
    await stack?.stop();
  });

  const running = (): TestStack => {
    if (stack === undefined) throw new Error("The product is not running yet.");
    return stack;
  };
  return {
    stack: running,
    async visit(options = {}) {
      if (browser === undefined) throw new Error("The browser is not running yet.");
      const made = await visit(browser, { ...options, baseUrl: running().baseUrl });
      visits.push(made);
      return made;
    },
  };
}
