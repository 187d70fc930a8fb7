import { createHash } from "node:crypto";
import { withoutDirective, type Directive } from "./directive.ts";
import { countTokens, takeTokens, type Prompt, type Tool } from "./prompt.ts";
import { sampleObject } from "./schema-sample.ts";

interface ToolCall {
  /** Its id without the protocol's prefix. */
  id: string;
  name: string;
  /** JSON text of an object. */
  parameters: string;
}

interface AnswerUsage {
  /** All prompt tokens, cached ones included. */
  promptTokens: number;
  cachedTokens: number;
  /** All produced tokens, reasoning included. */
  outputTokens: number;
  reasoningTokens: number;
}

/** The simulated model's answer, before a protocol formats it. */
export interface Answer {
  /** 24 hexadecimal digits that derive from the model and the texts: the same whether streamed or not. */
  id: string;
  model: string;
  /** Empty if it does not think aloud. */
  reasoning: string;
  text: string;
  toolCalls: readonly ToolCall[];
  stop: { kind: "end" | "length" | "tools" } | { kind: "sequence"; sequence: string } | { kind: "forced"; reason: string };
  usage: AnswerUsage;
}

const CACHE_BLOCK_TOKENS = 64;
const QUOTED_CHARACTERS = 400;
const LARGE_TEXT = 16 * 1024;

/** The answer to a request: always the same one. */
export function createAnswer(prompt: Prompt, directive: Directive, body: string): Answer {
  const id = hash([prompt.model, ...prompt.texts]);
  const asked = withoutDirective(prompt.lastUserText);
  const toolCalls = chooseTools(prompt, directive, asked).map((tool, index) =>
    callTool(tool, { directive, seed: `${id}${index}` }),
  );
  const text = directive.isEcho ? body : composeText(prompt, directive, asked, toolCalls);
  const whole = { reasoning: prompt.wantsReasoning ? composeReasoning(asked) : "", text, toolCalls };
  const { reasoning, text: kept, toolCalls: keptCalls, stop } = limit(whole, prompt, directive);
  return {
    id,
    model: prompt.model,
    reasoning,
    text: kept,
    toolCalls: keptCalls,
    stop: directive.stop === undefined ? stop : { kind: "forced", reason: directive.stop },
    usage: countUsage(prompt, directive, { reasoning, text: kept, toolCalls: keptCalls }),
  };
}

/** Tokens of a prompt, total and cached. */
export function countPrompt(prompt: Prompt, directive: Directive): { promptTokens: number; cachedTokens: number } {
  const known = countTokens(...prompt.texts.slice(0, -1));
  const cachedTokens = directive.cachedTokens ?? known - (known % CACHE_BLOCK_TOKENS);
  return { promptTokens: Math.max(countTokens(...prompt.texts), cachedTokens), cachedTokens };
}

type AnswerContent = Pick<Answer, "reasoning" | "text" | "toolCalls">;

function countUsage(prompt: Prompt, directive: Directive, content: AnswerContent): AnswerUsage {
  const reasoningTokens = countTokens(content.reasoning);
  const spokenTokens = countTokens(content.text, ...content.toolCalls.map((call) => call.parameters));
  return { ...countPrompt(prompt, directive), outputTokens: reasoningTokens + spokenTokens, reasoningTokens };
}

/** Cuts the answer at the request's token limit and at its stop sequences. */
function limit(whole: AnswerContent, prompt: Prompt, { isUnlimited }: Directive): AnswerContent & { stop: Answer["stop"] } {
  const sequence = prompt.stopSequences
    .filter((each) => each !== "" && whole.text.includes(each))
    .sort((one, other) => whole.text.indexOf(one) - whole.text.indexOf(other))[0];
  const spoken = sequence === undefined ? whole.text : whole.text.slice(0, whole.text.indexOf(sequence));
  const budget = isUnlimited ? Number.POSITIVE_INFINITY : (prompt.maxOutputTokens ?? Number.POSITIVE_INFINITY);
  const reasoning = takeTokens(whole.reasoning, budget);
  const text = takeTokens(spoken, budget - countTokens(reasoning));
  if (text.length < spoken.length || reasoning.length < whole.reasoning.length) {
    return { reasoning, text, toolCalls: [], stop: { kind: "length" } };
  }
  if (sequence !== undefined) return { reasoning, text, toolCalls: [], stop: { kind: "sequence", sequence } };
  return { reasoning, text, toolCalls: whole.toolCalls, stop: { kind: whole.toolCalls.length > 0 ? "tools" : "end" } };
}

/** A tool is called if the request forces it, a directive says so, or the user's text names it. */
function chooseTools(prompt: Prompt, directive: Directive, asked: string): readonly Tool[] {
  const calls = wantedTools(prompt, directive, asked);
  return prompt.allowsParallelTools ? calls : calls.slice(0, 1);
}

function wantedTools({ tools, toolChoice, toolResults }: Prompt, directive: Directive, asked: string): readonly Tool[] {
  if (toolChoice.kind === "named") return tools.filter(({ name }) => name === toolChoice.name).slice(0, 1);
  const isAnswered = toolChoice.kind === "auto" && toolResults.length > 0 && !directive.isScripted;
  if (toolChoice.kind === "none" || isAnswered || directive.isWithoutTools) return [];
  const { tool: directed, toolCount } = directive;
  if (directed !== undefined || toolCount !== undefined) {
    const pool = directed === undefined ? tools : [tools.find(({ name }) => name === directed) ?? { name: directed, schema: {} }];
    return takeInTurn(pool, toolCount ?? 1);
  }
  const named = tools.filter(({ name }) => asked.toLowerCase().includes(name.toLowerCase()));
  if (named.length > 0) return named;
  return toolChoice.kind === "any" || asksForTools(asked) ? tools.slice(0, 1) : [];
}

/** A line with "use" and, after it, "tool". Not with one pattern: a long line with many "use" would take minutes. */
function asksForTools(asked: string): boolean {
  return asked.split(/[\n\r]/).some((line) => {
    const at = line.search(/\b(use|call)\b/i);
    return at >= 0 && /\btools?\b/i.test(line.slice(at));
  });
}

function takeInTurn(tools: readonly Tool[], count: number): readonly Tool[] {
  return Array.from({ length: count }, (_, index) => tools[index % tools.length]).filter((tool) => tool !== undefined);
}

function callTool(tool: Tool, { directive, seed }: { directive: Directive; seed: string }): ToolCall {
  const parameters = tool.name === directive.tool ? directive.toolArguments : undefined;
  return { id: hash([seed]), name: tool.name, parameters: parameters ?? JSON.stringify(sampleObject(tool.schema)) };
}

function hash(texts: readonly string[]): string {
  const digest = createHash("sha256");
  for (const text of texts) digest.update(text).update("\0");
  return digest.digest("hex").slice(0, 24);
}

function composeText(prompt: Prompt, directive: Directive, asked: string, toolCalls: readonly ToolCall[]): string {
  if (directive.say !== undefined) return directive.say;
  if (directive.tokens !== undefined) return composeTokens(directive.tokens);
  if (toolCalls.length > 0) return "";
  if (prompt.responseSchema !== undefined) return JSON.stringify(sampleObject(prompt.responseSchema));
  const subject =
    prompt.toolResults.length > 0 ? `The tools returned: ${quote(prompt.toolResults.join(" | "))}` : `You wrote: ${quote(asked)}`;
  const text = `This is a simulation of ${prompt.model}: no model has read this. ${subject}`;
  return prompt.wantsJson ? JSON.stringify({ answer: text }) : text;
}

function composeReasoning(asked: string): string {
  return `This reasoning is simulated. The question is ${quote(asked)}, and the answer repeats it.`;
}

/** Text of exactly this many tokens: every four characters are one. */
function composeTokens(tokens: number): string {
  const beginning = "This is a simulation";
  return (beginning + " one two six ten".repeat(Math.ceil(tokens / 4))).slice(0, tokens * 4);
}

function quote(text: string): string {
  const characters = Array.from(text.trim());
  const cut =
    characters.length > QUOTED_CHARACTERS ? `${characters.slice(0, QUOTED_CHARACTERS).join("")} …` : characters.join("");
  return `“${cut}”`;
}

/** The pieces of a stream: words; tokens if the answer counts them; larger pieces of a large text. */
export function splitAnswer(text: string, directive: Directive): string[] {
  const pattern = directive.tokens !== undefined ? /[^]{1,4}/gu : text.length > LARGE_TEXT ? /[^]{1,1024}/gu : /\S+\s*|\s+/gu;
  return text.match(pattern) ?? [];
}
