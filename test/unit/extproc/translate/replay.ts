import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

/** What the official SDK's stream helper makes of a chat stream; rejects with what a client would get. */
export async function replayChat(stream: string): Promise<OpenAI.ChatCompletion> {
  const client = new OpenAI({ apiKey: "sk-test", baseURL: "http://127.0.0.1/v1", maxRetries: 0, fetch: answering(stream) });
  const run = client.chat.completions.stream({ model: "m", messages: [], stream_options: { include_usage: true } });
  return run.finalChatCompletion();
}

/** The same for a messages stream. */
export async function replayMessages(stream: string): Promise<Anthropic.Message> {
  return streamMessage(stream).finalMessage();
}

/** The blocks of a messages stream as the SDK's helper reports them, each when it ends. */
export async function replayBlocks(stream: string): Promise<Anthropic.ContentBlock[]> {
  const blocks: Anthropic.ContentBlock[] = [];
  await streamMessage(stream)
    .on("contentBlock", (block) => blocks.push(structuredClone(block)))
    .finalMessage();
  return blocks;
}

function streamMessage(stream: string) {
  const client = new Anthropic({
    apiKey: "sk-test",
    authToken: null,
    baseURL: "http://127.0.0.1",
    maxRetries: 0,
    fetch: answering(stream),
  });
  return client.messages.stream({ model: "m", max_tokens: 1, messages: [] });
}

/** The same for a Responses stream. */
export async function replayResponses(stream: string): Promise<OpenAI.Responses.Response> {
  const client = new OpenAI({ apiKey: "sk-test", baseURL: "http://127.0.0.1/v1", maxRetries: 0, fetch: answering(stream) });
  return client.responses.stream({ model: "m", input: "hi" }).finalResponse();
}

function answering(stream: string): () => Promise<Response> {
  return () => Promise.resolve(new Response(stream, { headers: { "content-type": "text/event-stream; charset=utf-8" } }));
}
