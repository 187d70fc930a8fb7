import { performance } from "node:perf_hooks";

/** How far this process is behind, and whether because of its own work. */
export interface Lateness {
  /** How late its timers fire, smoothed so that one pause counts little. */
  readonly meanMs: number;
  /** Of the last half second, the part in which its loop was not idle: 0 to 1. */
  readonly busyPart: number;
  stop(): void;
}

const EVERY_MS = 50;
/** Weight of the newest reading. */
const NEWEST = 0.2;
const BUSY_READINGS = 10;

/** @param clock monotonic, ms. */
export function startLateness({ nowMs }: { nowMs(): number }): Lateness {
  let meanMs = 0;
  let busyPart = 0;
  let expectedMs = nowMs() + EVERY_MS;
  const readings = [performance.eventLoopUtilization()];

  function read(): void {
    const lateMs = Math.max(0, nowMs() - expectedMs);
    meanMs += NEWEST * (lateMs - meanMs);
    expectedMs = nowMs() + EVERY_MS;
    const newest = performance.eventLoopUtilization();
    const oldest = readings.length > BUSY_READINGS ? readings.shift() : readings[0];
    readings.push(newest);
    busyPart = performance.eventLoopUtilization(newest, oldest).utilization;
  }
  const timer = setInterval(read, EVERY_MS).unref();
  return {
    get meanMs() {
      return meanMs;
    },
    get busyPart() {
      return busyPart;
    },
    stop: () => clearInterval(timer),
  };
}
