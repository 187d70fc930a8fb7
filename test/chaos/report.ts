import { markdownTable } from "../support/documents/markdown-table.ts";
import type { Result } from "./upstream-faults.ts";

export interface Row {
  name: string;
  requests: number;
  results: Record<Result, number>;
  unexplained: number;
}

/** Rows by name, in the order in which they were named first. */
export interface Tally {
  count(name: string, result: Result, isExplained: boolean): void;
  readonly rows: readonly Row[];
}

export function createTally(names: readonly string[]): Tally {
  const rows = new Map(names.map((name) => [name, emptyRow(name)]));
  return {
    count(name, result, isExplained) {
      const row = rows.get(name) ?? emptyRow(name);
      rows.set(name, row);
      row.requests += 1;
      row.results[result] += 1;
      if (!isExplained) row.unexplained += 1;
    },
    get rows() {
      return [...rows.values()];
    },
  };
}

function emptyRow(name: string): Row {
  return { name, requests: 0, results: { answered: 0, refused: 0, broken: 0 }, unexplained: 0 };
}

export function reportTable(rows: readonly Row[]): string {
  const cells = ({ name, requests, results, unexplained }: Row) => [
    name,
    ...[requests, results.answered, results.refused, results.broken, unexplained].map(String),
  ];
  const sum = (of: (row: Row) => number) => rows.reduce((total, row) => total + of(row), 0);
  const all: Row = {
    name: "all",
    requests: sum(({ requests }) => requests),
    results: {
      answered: sum(({ results }) => results.answered),
      refused: sum(({ results }) => results.refused),
      broken: sum(({ results }) => results.broken),
    },
    unexplained: sum(({ unexplained }) => unexplained),
  };
  return markdownTable(["fault", "requests", "answered", "refused", "broken", "unexplained"], [...rows, all].map(cells));
}

const MARKS = ["<!-- chaos: begin -->", "<!-- chaos: end -->"] as const;

/** @throws where the page has no place for it. */
export function insertReport(page: string, report: string): string {
  const [begin, end] = MARKS.map((mark) => page.indexOf(mark));
  if (begin === undefined || end === undefined || begin < 0 || end < begin)
    throw new Error(`The page lacks ${MARKS.join(" … ")}.`);
  return `${page.slice(0, begin + MARKS[0].length)}\n${report}\n${page.slice(end)}`;
}
