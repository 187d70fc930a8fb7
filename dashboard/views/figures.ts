import { html } from "ghtml";
import { formatNanoUsd } from "../../ledger/money.ts";

/** The same number of decimals for all amounts in a column, so that points align. Requests cost less than a cent. */
const DECIMALS = { cents: 2, micros: 6 } as const;

/** An amount truncated to the column's decimals, never rounded up; the exact one is in its title. */
export function usd(nanoUsd: bigint, precision: keyof typeof DECIMALS = "cents", { isSigned = false } = {}): string {
  const size = nanoUsd < 0n ? -nanoUsd : nanoUsd;
  const sign = nanoUsd < 0n ? "−" : isSigned && nanoUsd > 0n ? "+" : "";
  const [whole = "0", decimals = ""] = formatNanoUsd(size).split(".");
  const cut = decimals.slice(0, DECIMALS[precision]);
  const isHidden = size > 0n && whole === "0" && /^0*$/.test(cut);
  const text = isHidden ? `${sign}<$0.${cut.slice(0, -1)}1` : `${sign}$${grouped(whole)}.${cut}`;
  const exact = `${sign}$${grouped(whole)}.${decimals.replace(/0+$/, "").padEnd(2, "0")}`;
  return html`<span class="nowrap" title="${exact}">${text}</span>`;
}

/** With commas between thousands, and any decimals. */
export function grouped(number: string): string {
  const [whole = "", ...decimals] = number.split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...decimals].join(".");
}

const SUFFIXES = [
  ["B", 1e9],
  ["M", 1e6],
  ["K", 1e3],
] as const;
/** A number below this is short enough. */
const MIN_COMPACT = 10_000;
/** In a column it would stand apart from those with a unit. */
const MIN_COMPACT_CELL = 1_000;

/** A short count, "142.1M"; the exact one is in its title. */
export function compact(count: number): string {
  const exact = count.toLocaleString("en-US");
  const { digits, unit } = shorten(count, MIN_COMPACT);
  return html`<span class="nowrap" title="${exact}">${digits}${unit}</span>`;
}

/** The same in a column: points are aligned, whatever unit follows. */
export function compactCell(count: number): string {
  const { digits, unit } = shorten(count, MIN_COMPACT_CELL);
  const [whole = "", decimals] = digits.split(".");
  const end = decimals === undefined ? html`<span class="blank" aria-hidden="true">.0</span>` : html`.${decimals}`;
  return html`<span class="nowrap" title="${count.toLocaleString("en-US")}"
    >${whole}!${end}<span class="unit">${unit}</span></span
  >`;
}

function shorten(count: number, from: number): { digits: string; unit: string } {
  if (count < from) return { digits: count.toLocaleString("en-US"), unit: "" };
  // Rounded first: 999,950 is 1.0M, not 1,000.0K.
  const [unit, size] = SUFFIXES.find(([, each]) => count >= each * 0.99995) ?? ["K", 1e3];
  return { digits: (count / size).toFixed(1), unit };
}

export function seconds(ms: number | null): string {
  return ms === null ? "–" : `${(ms / 1000).toFixed(2)} s`;
}

/** Speed of the output after its first token; none for an answer that is too short. */
export function tokensPerSecond({
  outputTokens,
  durationMs,
  firstTokenMs,
}: {
  outputTokens: number;
  durationMs: number;
  firstTokenMs: number | null;
}): string {
  const ms = durationMs - (firstTokenMs ?? 0);
  return ms < 100 || outputTokens < 2 ? "–" : Math.round((outputTokens * 1000) / ms).toLocaleString("en-US");
}

/** A labelled number at the top of a page. @param figure.value HTML; @param figure.note HTML. */
export function figure({ name, value, note = "" }: { name: string; value: string; note?: string }): string {
  return html`<div class="card figure">
    <h2>${name}</h2>
    <p class="value">!${value}</p>
    !${note === "" ? "" : html`<p class="muted small">!${note}</p>`}
  </div>`;
}
