import { totalmem } from "node:os";
import process from "node:process";

const MEBIBYTE = 1024 * 1024;
const PART = 1 / 3;
const SMALLEST_HEAP_BYTES = 512 * MEBIBYTE;
const LARGEST_HEAP_BYTES = 2048 * MEBIBYTE;

/**
 * How much of so many bytes Envoy's heap may take before it refuses requests. Without a bound a flood fills the machine, and the
 * kernel ends Envoy with all requests in it, or another program.
 */
export function heapWithin(memoryBytes: number): number {
  return Math.max(SMALLEST_HEAP_BYTES, Math.min(LARGEST_HEAP_BYTES, Math.floor(memoryBytes * PART)));
}

/** Bytes of memory that this process and those it starts may use: the machine's, or the container's if that is less. */
export function memoryLimit(): number {
  const ofContainer = process.constrainedMemory();
  return ofContainer === 0 ? totalmem() : Math.min(totalmem(), ofContainer);
}
