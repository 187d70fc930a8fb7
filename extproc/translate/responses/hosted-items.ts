import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import type { HostedItem } from "../../protocol/responses/hosted-item.ts";
import { below, fieldError, type FieldPath } from "../conversation/field-path.ts";
import { readImageUrl } from "../conversation/media.ts";
import { readableJson } from "../conversation/readable-json.ts";
import type { ImageBlock, ResultBlock, TextBlock } from "../conversation/turn.ts";

/**
 * A conversation from a service with its own tools continues elsewhere as text: no other model can call them, but it must know
 * the results.
 */

/** The model's call, and its result if the service itself ran it. */
export function readHostedCall(item: HostedItem, at: FieldPath): TextBlock[] {
  const tool = toolOf(item);
  const { results } = item;
  const called = `\n[${tool} was called with ${written(inputOf(item), at)}]\n`;
  const pages = [...listOf(isObject(item["action"]) ? item["action"]["sources"] : undefined), ...listOf(results)];
  const found = pages.flatMap(lineOf);
  const answers = answersOf(item);
  return [
    textBlock(called, at),
    ...(found.length === 0 ? [] : [textBlock(`\n[${tool} found:\n${found.join("\n")}]\n`, at)]),
    ...answers.map((answer) => textBlock(`\n[${tool} answered ${answer}]\n`, at)),
  ];
}

/** The client's answer. */
export function readHostedOutput(item: HostedItem, at: FieldPath): ResultBlock[] {
  const { output } = item;
  const image = screenshotOf(output, below(at, "output"));
  if (image !== null) return [textBlock(`[${toolOf(item)} answered with an image]`, at), image];
  const text = typeof output === "string" ? output : written(output ?? null, at);
  return [textBlock(`[${toolOf(item)} answered ${text}]`, at)];
}

function toolOf({ type, name }: HostedItem): string {
  return typeof name === "string" && name !== "" ? name : type.replace(/_call(_output)?$/, "");
}

function inputOf(item: HostedItem): unknown {
  const { action, actions, operation, queries, code, arguments: text, revised_prompt: prompt } = item;
  if (typeof text === "string") return text;
  if (isObject(action)) return Object.fromEntries(Object.entries(action).filter(([name]) => name !== "sources"));
  if (code !== undefined) return { code };
  if (queries !== undefined) return { queries };
  return actions ?? operation ?? (prompt === undefined ? {} : { prompt });
}

/** A code interpreter's logs, an MCP server's text or error, a picture that was made. */
function answersOf({ outputs, output, error, result }: HostedItem): string[] {
  const logs = listOf(outputs).flatMap(({ logs, type }) => {
    if (typeof logs === "string") return [logs];
    return type === "image" ? ["with an image"] : [];
  });
  return [
    ...logs,
    ...(typeof output === "string" && output !== "" ? [output] : []),
    ...(typeof error === "string" && error !== "" ? [`with an error: ${error}`] : []),
    ...(typeof result === "string" && result !== "" ? ["with an image"] : []),
  ];
}

function lineOf({ title, url, filename, text }: JsonObject): string[] {
  if (typeof url === "string") return [typeof title === "string" && title !== "" ? `- ${title} (${url})` : `- ${url}`];
  if (typeof text !== "string") return [];
  return [typeof filename === "string" && filename !== "" ? `- ${filename}: ${text}` : `- ${text}`];
}

function screenshotOf(output: unknown, at: FieldPath): ImageBlock | null {
  const url = isObject(output) ? output["image_url"] : undefined;
  if (typeof url !== "string" || url === "") return null;
  return { type: "image", source: readImageUrl(url, below(at, "image_url")), detail: null, cache: null, at };
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function written(value: unknown, at: FieldPath): string {
  if (typeof value === "string") return value;
  try {
    return readableJson(JSON.stringify(value));
  } catch (cause) {
    throw fieldError(at, " is nested too deeply. Leave the item out.", cause);
  }
}

function textBlock(text: string, at: FieldPath): TextBlock {
  return { type: "text", text, cache: null, at };
}
