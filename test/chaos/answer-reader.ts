import * as z from "zod";
import type { Protocol } from "../../contract/protocol.ts";

/** What an answer's bytes say, in the caller's protocol. */
export interface ReadAnswer {
  text: string;
  /** It has its protocol's own end. */
  hasEnd: boolean;
  /** It says in its protocol that it broke. */
  hasError: boolean;
  /** An event that no client can read. */
  hasGarbage: boolean;
}

const textPart = z.object({ text: z.string().optional() });
const wholeAnswers = {
  chat: z.object({ choices: z.array(z.object({ message: z.object({ content: z.string() }) })).min(1) }),
  messages: z.object({ type: z.literal("message"), content: z.array(textPart) }),
  responses: z.object({ status: z.literal("completed"), output: z.array(z.object({ content: z.array(textPart).optional() })) }),
} as const;

/** @throws where the body is no answer of the interface. */
export function readWhole(protocol: Protocol, body: string): ReadAnswer {
  const json: unknown = JSON.parse(body);
  return { text: textOf(protocol, json), hasEnd: true, hasError: false, hasGarbage: false };
}

function textOf(protocol: Protocol, json: unknown): string {
  switch (protocol) {
    case "chat":
      return wholeAnswers.chat.parse(json).choices[0]?.message.content ?? "";
    case "messages":
      return joined(wholeAnswers.messages.parse(json).content);
    case "responses":
      return wholeAnswers.responses
        .parse(json)
        .output.map(({ content = [] }) => joined(content))
        .join("");
  }
}

function joined(parts: readonly z.infer<typeof textPart>[]): string {
  return parts.map(({ text = "" }) => text).join("");
}

/** Of what an event may say, all that is looked at. */
const streamEvent = z.object({
  type: z.string().optional(),
  error: z.unknown().optional(),
  delta: z.union([z.string(), z.object({ type: z.string().optional(), text: z.string().optional() })]).optional(),
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }).optional() })).optional(),
});

/** @throws where something comes after the end. */
export function readStream(body: string): ReadAnswer {
  const answer: ReadAnswer = { text: "", hasEnd: false, hasError: false, hasGarbage: false };
  // What is behind the last empty line came in part.
  for (const event of body.split("\n\n").slice(0, -1)) {
    const data = event
      .split("\n")
      .filter((line) => line.startsWith("data: "))
      .map((line) => line.slice("data: ".length))
      .join("\n");
    if (data === "") continue;
    if (answer.hasEnd) throw new Error("something came after the end");
    if (data === "[DONE]") answer.hasEnd = true;
    else note(answer, readEvent(data));
  }
  return answer;
}

type StreamEvent = z.infer<typeof streamEvent>;

/** @returns undefined where the text is no event of any interface. */
function readEvent(data: string): StreamEvent | undefined {
  try {
    return streamEvent.parse(JSON.parse(data));
  } catch {
    return undefined;
  }
}

function note(answer: ReadAnswer, event: StreamEvent | undefined): void {
  if (event === undefined) return void (answer.hasGarbage = true);
  const { type, error, delta, choices } = event;
  answer.hasError ||= type === "error" || type === "response.failed" || (error !== undefined && error !== null);
  answer.hasEnd ||= type === "message_stop" || type === "response.completed";
  if (type === "response.output_text.delta" && typeof delta === "string") answer.text += delta;
  if (type === "content_block_delta" && typeof delta === "object") answer.text += delta.text ?? "";
  answer.text += choices?.[0]?.delta?.content ?? "";
}
