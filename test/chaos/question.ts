import type { Protocol } from "../../contract/protocol.ts";

/** One request of the load, and what its answer is to be. */
export interface Question {
  number: number;
  interface: Protocol;
  model: string;
  isStream: boolean;
  /** Name of what the model server is to do wrong. */
  fault: string;
  words: number;
}

/** From here on, questions are those of attackers, which nobody accounts for. */
export const FIRST_OF_ATTACKERS = 1_000_000_000;

/** The prompt tells the model server what to do: nothing else of a request is sure to reach it. */
const PROMPT = /question (\d+), fault "([^"]*)", (\d+) words/;

function promptOf({ number, fault, words }: Question): string {
  return `This is question ${number}, fault "${fault}", ${words} words.`;
}

export function readPrompt(prompt: string): Pick<Question, "number" | "fault" | "words"> {
  const [, number, fault = "", words] = PROMPT.exec(prompt) ?? [];
  return { number: Number(number), fault, words: Number(words) };
}

/** No two questions have the same answer: what reaches the wrong caller shows. */
export function answerTo({ number, words }: Pick<Question, "number" | "words">): string {
  return Array.from({ length: words }, (_, index) => `${number}:${index}`).join(" ");
}

/** As the model servers count here. */
export const BYTES_PER_TOKEN = 4;

export const PATHS = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
} as const satisfies Record<Protocol, string>;

export function bodyOf(question: Question): object {
  const { model, isStream: stream } = question;
  const content = promptOf(question);
  const most = 64 + Math.ceil(answerTo(question).length / BYTES_PER_TOKEN);
  switch (question.interface) {
    case "chat":
    case "messages":
      return { model, stream, max_tokens: most, messages: [{ role: "user", content }] };
    case "responses":
      return { model, stream, max_output_tokens: most, input: content, store: false };
  }
}
