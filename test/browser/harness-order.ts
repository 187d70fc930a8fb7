import type { Page } from "playwright-core";
import * as z from "zod";

/** Runs in the page. */
const DISORDER = `(() => {
  const isSeen = (element) => element.checkVisibility({ visibilityProperty: true });
  const seen = (selector) => [...document.querySelectorAll(selector)].filter(isSeen);
  const found = [];

  const levels = seen("h1, h2, h3, h4, h5, h6").map(({ tagName }) => Number(tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) found.push("has " + levels.length + " headings, and not one of level 1");
  for (const [at, level] of levels.entries())
    if (at > 0 && level > levels[at - 1] + 1) found.push("has a heading of level " + level + " after one of level " + levels[at - 1]);

  const primary = seen("main .primary").map(({ innerText }) => innerText);
  if (primary.length > 1) found.push("has several primary buttons: " + primary.join(", "));

  const cards = seen(".table tbody tr").filter((row) => getComputedStyle(row).display === "grid");
  for (const card of cards) {
    const figures = [...card.children].filter((cell) => cell.classList.contains("number") && isSeen(cell));
    const tops = new Set(figures.slice(0, 3).map((cell) => cell.getBoundingClientRect().top));
    if (tops.size > 1) found.push("has figures of a card below one another: " + card.innerText);
  }
  // Who speaks to the browser says what is to be seen. Menus' items are not in sight yet.
  const plain = (text) => text.toLowerCase().replace(/[^\\p{L}\\p{N}]+/gu, " ").trim();
  for (const element of document.querySelectorAll(":is(a, button, summary)[aria-label]")) {
    const words = plain(element.textContent);
    if (!plain(element.getAttribute("aria-label")).includes(words)) found.push("has " + words + " called " + element.getAttribute("aria-label"));
  }
  return found;
})()`;

/**
 * What makes a page hard to read, or to know what to do on it: headings, primary buttons and figures out of order, and
 * controls whose name is not what is written on them.
 */
export async function disorderOf(page: Page): Promise<string[]> {
  return z.array(z.string()).parse(await page.evaluate(DISORDER));
}
