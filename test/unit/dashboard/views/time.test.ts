import { expect, test } from "vitest";
import { bookedDay, dueMoment, logMoment, moment, recordedMoment } from "../../../../dashboard/views/time.ts";

const MINUTE_MS = 60_000;
const words = (html: string) => />([^<]+)</.exec(html)?.[1];
const inMs = (ms: number) => new Date(Date.now() + ms);

test("a log's times name the month and use UTC, with the year in their title", () => {
  const shown = logMoment(new Date("2026-11-07T00:05:09.120Z"));
  expect(words(shown)).toBe("Nov 7, 00:05:09");
  expect(shown).toContain('title="2026-11-07 00:05:09 UTC"');
});

test("an audit log's times are exact, and leave UTC to the head of their column", () => {
  const shown = recordedMoment(new Date("2026-11-07T23:59:59.999Z"));
  expect(shown).toContain('title="2026-11-07 23:59:59 UTC">2026-11-07 23:59:59</time>');
});

test("payments and entries show their UTC day, with the moment in its title", () => {
  const shown = bookedDay(new Date("2026-11-07T23:59:59.999Z"));
  expect(words(shown)).toBe("2026-11-07");
  expect(shown).toContain('title="2026-11-07 23:59:59 UTC"');
});

test("what is to be done is due now once its time has come, and in some time before; what was done is so long ago", () => {
  expect([-2 * 24 * 60, -1.5, -0.5, 0].map((minutes) => words(dueMoment(inMs(minutes * MINUTE_MS))))).toEqual(
    Array(4).fill("now"),
  );
  expect([0.5, 2.5, 90.5].map((minutes) => words(dueMoment(inMs(minutes * MINUTE_MS))))).toEqual([
    "in a moment",
    "in 2 minutes",
    "in 1 hour",
  ]);
  expect([-90, -1.5, -0.5].map((minutes) => words(moment(inMs(minutes * MINUTE_MS))))).toEqual([
    "1 hour ago",
    "1 minute ago",
    "just now",
  ]);
});
