import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type Axe from "axe-core";
import type { Page } from "playwright-core";

/** Half the size of what axe-core itself gives to those who inject it. */
const SCRIPT = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** The rule that compares the colour of each text with what is behind it. */
const COLOURS = "color-contrast";

/** What shuts somebody out of the page, as axe says it: serious and critical. */
export async function gravePartsOf(page: Page, { layout = true, colours = true } = {}): Promise<string[]> {
  const options: Axe.RunOptions = {
    // Of parts that are in order, axe would describe each: most of its work on a long page.
    resultTypes: ["violations"],
    ...(layout ? { rules: { [COLOURS]: { enabled: colours } } } : { runOnly: { type: "rule", values: [COLOURS] } }),
  };
  // A page that is looked at once more has it already.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(SCRIPT);
  return await page.evaluate(async (given) => {
    const { violations } = await globalThis.axe.run(given);
    const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    return grave.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
  }, options);
}

declare global {
  /** In pages that were looked at. */
  // Only a `var` becomes a property of globalThis.
  var axe: typeof Axe;
}
