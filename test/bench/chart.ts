/** One group of bars: a case, and what each gateway used. */
export interface BarGroup {
  title: string;
  bars: readonly { name: string; parts: readonly number[] }[];
}

const WIDTH = 760;
const LABELS = 150;
const VALUES = 60;
const BAR = 16;
const GROUP_GAP = 34;
/** Of a gateway's parts, in their order: the proxy, our process, the rest. */
const COLOURS = ["#5b8def", "#e08a3c", "#8f8f8f", "#b9b9b9"];

/**
 * Horizontal bars of CPU time, a group for each case, each group on a scale of its own. An SVG that reads on light pages
 * and on dark ones.
 */
export function barChart(groups: readonly BarGroup[], legend: readonly string[]): string {
  const parts: string[] = [];
  let y = 30;
  legend.forEach((name, index) => {
    const x = LABELS + index * 130;
    parts.push(`<rect x="${x}" y="8" width="10" height="10" fill="${colour(index)}"/>`, label(x + 15, 17, name, "start"));
  });
  for (const { title, bars } of groups) {
    parts.push(`<text x="0" y="${y + 14}" class="title">${escape(title)}</text>`);
    y += 22;
    const most = Math.max(...bars.map((bar) => sum(bar.parts)));
    for (const bar of bars) {
      parts.push(label(LABELS - 8, y + 12, bar.name, "end"));
      let x = LABELS;
      bar.parts.forEach((part, index) => {
        const width = (part / most) * (WIDTH - LABELS - VALUES);
        parts.push(
          `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${BAR - 4}" fill="${colour(index)}"/>`,
        );
        x += width;
      });
      parts.push(label(x + 6, y + 11, sum(bar.parts).toFixed(2), "start"));
      y += BAR;
    }
    y += GROUP_GAP - 22;
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" role="img" aria-label="CPU milliseconds a request">`,
    "<style>text{font:12px sans-serif;fill:#666}.title{font-weight:600;fill:#444}@media(prefers-color-scheme:dark){text{fill:#bbb}.title{fill:#ddd}}</style>",
    ...parts,
    "</svg>",
    "",
  ].join("\n");
}

function label(x: number, y: number, text: string, anchor: "start" | "end"): string {
  return `<text x="${x.toFixed(1)}" y="${y}" text-anchor="${anchor}">${escape(text)}</text>`;
}

function colour(index: number): string {
  return COLOURS[Math.min(index, COLOURS.length - 1)] ?? "#888";
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}
