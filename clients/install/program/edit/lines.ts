/** A text as lines without their "\n"; a "\r" stays in them. */
export interface Lines {
  lines: readonly string[];
  endsWithNewline: boolean;
}

export function toLines(text: string): Lines {
  const lines = text.split("\n");
  const endsWithNewline = lines.at(-1) === "";
  return { lines: endsWithNewline ? lines.slice(0, -1) : lines, endsWithNewline };
}

export function toText({ lines, endsWithNewline }: Lines): string {
  return lines.join("\n") + (endsWithNewline && lines.length > 0 ? "\n" : "");
}

/** Lines from `from` to `to`, both included, counted from 0. */
export interface Span {
  from: number;
  to: number;
}

export function linesOf({ lines }: Lines, { from, to }: Span): string[] {
  return lines.slice(from, to + 1);
}

export function withoutSpans(lines: readonly string[], spans: readonly Span[]): string[] {
  return lines.filter((_line, index) => !spans.some(({ from, to }) => index >= from && index <= to));
}

export function isBlank(line: string | undefined): boolean {
  return line !== undefined && line.trim() === "";
}
