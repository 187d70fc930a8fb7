/** What an event is. Some servers leave its type to its name, or write an empty one. */
export function eventType(type: unknown, name: string | null): unknown {
  return (type ?? "") === "" ? name : type;
}
