/**
 * What a test or a demonstration asks of the simulated server, written in the text of the last user message:
 * `[[sim status=429 retry-after=3]]`. A word without `=` is a flag. Unknown words are ignored. Of several directives in one
 * text the first is for the first answer, the next for the one after the tools returned, and so on: a script for an agent.
 *
 * | word            | effect                                                                                     |
 * |-----------------|--------------------------------------------------------------------------------------------|
 * | status=N        | answers this HTTP status, with an error body in the protocol's own form                    |
 * | type=T code=C   | the error body's `type` and (chat) `code`                                                  |
 * | retry-after=S   | with `status`: the header of that name                                                     |
 * | html            | an HTML error page, as a proxy in between would send it (status 502, or as `status` says)  |
 * | garbage         | 200 and a body that is not JSON (in a stream: an event whose data is not)                  |
 * | json            | answers JSON although a stream was requested                                               |
 * | delay-ms=N      | waits before the response headers                                                          |
 * | chunk-ms=N      | waits between events                                                                       |
 * | say=TEXT        | the answer's text, percent-encoded                                                         |
 * | tokens=N        | the answer is exactly N tokens of text, one an event                                       |
 * | unlimited       | ignores the request's limit of output tokens                                               |
 * | cached=N        | N prompt tokens count as cached                                                            |
 * | no-usage        | no usage anywhere                                                                          |
 * | cut-after=N     | closes cleanly after N events (not a stream: after half of the body)                       |
 * | reset-after=N   | resets the connection after N events; 0 means before the headers                           |
 * | error-after=N   | sends the protocol's error event after N events and closes                                 |
 * | stall, stall=N  | never answers, or sends N events and then nothing more                                     |
 * | tool=NAME       | calls this tool                                                                            |
 * | arguments=JSON  | the arguments of that call, percent-encoded; else they are made up from the tool's schema  |
 * | no-tools        | calls no tool, though the text may name one                                                |
 * | tools=N         | calls N tools at once, taking the request's tools in turn                                  |
 * | stop=REASON     | ends with this `finish_reason`, `stop_reason` or `incomplete_details.reason`               |
 * | one-chunk       | the whole stream in one write                                                              |
 * | split=N         | the stream in writes of N bytes                                                            |
 * | crlf            | the stream's lines end in CR LF                                                            |
 * | echo            | the answer's text is the request body as received                                          |
 */
export interface Directive {
  status: number | undefined;
  type: string | undefined;
  code: string | undefined;
  retryAfter: string | undefined;
  isHtml: boolean;
  isGarbage: boolean;
  isJson: boolean;
  delayMs: number;
  chunkMs: number;
  say: string | undefined;
  tokens: number | undefined;
  isUnlimited: boolean;
  cachedTokens: number | undefined;
  withoutUsage: boolean;
  cutAfter: number | undefined;
  resetAfter: number | undefined;
  errorAfter: number | undefined;
  stallAfter: number | "headers" | undefined;
  tool: string | undefined;
  /** JSON text of an object. */
  toolArguments: string | undefined;
  toolCount: number | undefined;
  isWithoutTools: boolean;
  /** One of several: it applies after the tools' results, too. */
  isScripted: boolean;
  stop: string | undefined;
  isOneChunk: boolean;
  splitBytes: number | undefined;
  isCrlf: boolean;
  isEcho: boolean;
}

const DIRECTIVE = /\s*\[\[sim\s([^\]]*)\]\]/g;

/** @param toolRounds how often tools have returned since the text was written. A single directive applies to all rounds. */
export function parseDirective(text: string, toolRounds = 0): Directive {
  const directives = [...text.matchAll(DIRECTIVE)].map(([, words = ""]) => words);
  const words = readWords((directives.length > 1 ? directives[toolRounds] : directives[0]) ?? "");
  const count = (name: string) => readCount(words.get(name));
  return {
    status: count("status"),
    type: words.get("type"),
    code: words.get("code"),
    retryAfter: words.get("retry-after"),
    isHtml: words.has("html"),
    isGarbage: words.has("garbage"),
    isJson: words.has("json"),
    delayMs: count("delay-ms") ?? 0,
    chunkMs: count("chunk-ms") ?? 0,
    say: readEncoded(words.get("say")),
    tokens: count("tokens"),
    isUnlimited: words.has("unlimited"),
    cachedTokens: count("cached"),
    withoutUsage: words.has("no-usage"),
    cutAfter: count("cut-after"),
    resetAfter: count("reset-after"),
    errorAfter: count("error-after"),
    stallAfter: words.has("stall") ? (count("stall") ?? "headers") : undefined,
    tool: words.get("tool"),
    toolArguments: readJson(words.get("arguments")),
    toolCount: count("tools"),
    isWithoutTools: words.has("no-tools"),
    isScripted: directives.length > 1 && toolRounds < directives.length,
    stop: words.get("stop"),
    isOneChunk: words.has("one-chunk"),
    splitBytes: count("split"),
    isCrlf: words.has("crlf"),
    isEcho: words.has("echo"),
  };
}

/** The text without its directives: the input that the simulated model reads and repeats. */
export function withoutDirective(text: string): string {
  return text.replaceAll(DIRECTIVE, "");
}

function readWords(text: string): Map<string, string> {
  return new Map(
    text
      .split(/\s+/)
      .filter((word) => word !== "")
      .map((word): [string, string] => {
        const equals = word.indexOf("=");
        return equals === -1 ? [word, ""] : [word.slice(0, equals), word.slice(equals + 1)];
      }),
  );
}

function readEncoded(value: string | undefined): string | undefined {
  try {
    return value === undefined ? undefined : decodeURIComponent(value);
  } catch {
    return undefined;
  }
}

function readJson(value: string | undefined): string | undefined {
  try {
    return JSON.stringify(JSON.parse(readEncoded(value) ?? ""));
  } catch {
    return undefined;
  }
}

function readCount(value: string | undefined): number | undefined {
  return value !== undefined && /^\d+$/.test(value) ? Number(value) : undefined;
}
