/** One server-sent event; `data` is written unchanged. */
export interface SseEvent {
  event?: string;
  data: string;
}

export function encodeSse({ event, data }: SseEvent, lineEnd: string): string {
  const name = event === undefined ? "" : `event: ${event}${lineEnd}`;
  return `${name}data: ${data}${lineEnd}${lineEnd}`;
}
