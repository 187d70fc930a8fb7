import { withoutDirective, type Directive } from "../directive.ts";
import type { SseEvent } from "../sse.ts";
import type { TranscriptionRequest } from "./request.ts";

/** What is heard: nothing is, but the prompt says what might be. */
function wordsOf({ prompt, seconds }: TranscriptionRequest): string {
  const heard = withoutDirective(prompt).trim();
  return heard === "" ? `A recording of ${seconds.toFixed(1)} seconds.` : heard;
}

/** As whisper-1 reports it. */
function usageOf({ seconds }: TranscriptionRequest, { withoutUsage }: Directive) {
  return withoutUsage ? {} : { usage: { type: "duration", seconds: Math.ceil(seconds) } };
}

/** An answer with its type. */
export function transcription(asked: TranscriptionRequest, directive: Directive): { type: string; body: string } {
  const text = wordsOf(asked);
  const { seconds, format } = asked;
  switch (format) {
    case "text":
      return plain(`${text}\n`);
    case "srt":
      return plain(`1\n${time(0, ",")} --> ${time(seconds, ",")}\n${text}\n\n`);
    case "vtt":
      return plain(`WEBVTT\n\n${time(0, ".")} --> ${time(seconds, ".")}\n${text}\n\n`);
    case "verbose_json": {
      const segments = [{ id: 0, start: 0, end: seconds, text }];
      return json({ task: "transcribe", language: "english", duration: seconds, text, segments, ...usageOf(asked, directive) });
    }
    default:
      return json({ text, ...usageOf(asked, directive) });
  }
}

/** The same in OpenAI's events, word by word. */
export function* transcriptionEvents(asked: TranscriptionRequest, directive: Directive): Generator<SseEvent> {
  const text = wordsOf(asked);
  for (const delta of text.match(/\S+\s*/g) ?? []) yield { data: JSON.stringify({ type: "transcript.text.delta", delta }) };
  yield { data: JSON.stringify({ type: "transcript.text.done", text, ...usageOf(asked, directive) }) };
}

function plain(body: string) {
  return { type: "text/plain; charset=utf-8", body };
}

function json(body: object) {
  return { type: "application/json", body: JSON.stringify(body) };
}

function time(seconds: number, point: string): string {
  const milliseconds = Math.round(seconds * 1_000);
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const [hours, minutes, rest] = [milliseconds / 3_600_000, (milliseconds / 60_000) % 60, (milliseconds / 1_000) % 60];
  return `${two(hours)}:${two(minutes)}:${two(rest)}${point}${String(milliseconds % 1_000).padStart(3, "0")}`;
}
