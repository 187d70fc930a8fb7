import process from "node:process";
import { aiSdkOverChat, aiSdkOverMessages, aiSdkOverResponses } from "./ai-sdk.ts";
import { anthropicSdk } from "./anthropic.ts";
import { given, type Seen } from "./conversation.ts";
import { langchainOverChat, langchainOverMessages, langchainOverResponses } from "./langchain.ts";
import { openaiOverChat, openaiOverResponses } from "./openai.ts";

/** Takes the clients' names as arguments; addresses, key and model come from the environment, as each client reads them. */
const variable = (name: string) => given(process.env[name], name);
const openaiModel = () => variable("OPENAI_MODEL");
const anthropicModel = () => variable("ANTHROPIC_MODEL");
const address = () => ({ baseUrl: variable("OPENAI_BASE_URL"), key: variable("OPENAI_API_KEY") });

const CLIENTS: Readonly<Record<string, () => Promise<Seen>>> = {
  "openai-node": () => openaiOverChat(openaiModel()),
  "openai-node-responses": () => openaiOverResponses(openaiModel()),
  "anthropic-node": () => anthropicSdk(anthropicModel()),
  "ai-sdk-openai-compatible": () => aiSdkOverChat(openaiModel(), address()),
  "ai-sdk-openai": () => aiSdkOverResponses(openaiModel()),
  "ai-sdk-anthropic": () => aiSdkOverMessages(anthropicModel(), variable("ANTHROPIC_BASE_URL")),
  "langchain-js-openai": () => langchainOverChat(openaiModel()),
  "langchain-js-openai-responses": () => langchainOverResponses(openaiModel()),
  "langchain-js-anthropic": () => langchainOverMessages(anthropicModel()),
};

for (const name of process.argv.slice(2)) {
  const seen = await given(CLIENTS[name], `client ${name}`)();
  process.stdout.write(`${JSON.stringify({ client: name, ...seen })}\n`);
}
