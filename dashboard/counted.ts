/** "1 key", "1,234 keys": a count and its noun. */
export function counted(count: number | bigint, noun: string, plural = `${noun}s`): string {
  return `${count.toLocaleString("en-US")} ${Number(count) === 1 ? noun : plural}`;
}
