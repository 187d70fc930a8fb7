/** The same short conversation as ../python/conversation.py holds, and what was seen in it. */
export interface Seen {
  text: string;
  /** Into how many pieces the streamed text came. */
  pieces: number;
  /** The arguments of the tool call. */
  call: unknown;
  /** What the model said to the tool's result. */
  after: string;
  /** null where the client was not asked to show it. */
  reasoning: string | null;
  /** Input and output tokens of the answer, and of the stream. */
  usage: [number, number];
  streamed: [number, number];
}

export const HELLO = "Hello";
export const COUNT = "Count to twenty.";
export const WEATHER = "Weather in Oslo? [[sim tool=get_weather arguments=%7B%22city%22%3A%22Oslo%22%7D]]";
export const PARAMETERS = { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] };
export const RESULT = "four degrees";

/** What a client must have given. */
export function given<Value>(value: Value | null | undefined, name: string): Value {
  if (value === null || value === undefined) throw new Error(`The client gave no ${name}.`);
  return value;
}
