import type { Interface } from "../../contract/protocol.ts";

export const LANGUAGES = ["curl", "python", "javascript"] as const;
export type Language = (typeof LANGUAGES)[number];

export const LANGUAGE_NAMES = { curl: "curl", python: "Python", javascript: "JavaScript" } as const satisfies Record<
  Language,
  string
>;

type Snippet = (request: { baseUrl: string; model: string }) => string;

/** The first request in each language and on each interface. The key comes from the environment. */
export const FIRST_REQUESTS = {
  curl: {
    chat: ({ baseUrl, model }) => `curl ${baseUrl}/v1/chat/completions \\
  -H "authorization: Bearer $MODEL_GATEWAY_API_KEY" \\
  -H "content-type: application/json" \\
  -d '{
    "model": "${model}",
    "messages": [{ "role": "user", "content": "Hello" }]
  }'`,
    messages: ({ baseUrl, model }) => `curl ${baseUrl}/v1/messages \\
  -H "x-api-key: $MODEL_GATEWAY_API_KEY" \\
  -H "anthropic-version: 2023-06-01" \\
  -H "content-type: application/json" \\
  -d '{
    "model": "${model}",
    "max_tokens": 1024,
    "messages": [{ "role": "user", "content": "Hello" }]
  }'`,
    responses: ({ baseUrl, model }) => `curl ${baseUrl}/v1/responses \\
  -H "authorization: Bearer $MODEL_GATEWAY_API_KEY" \\
  -H "content-type: application/json" \\
  -d '{ "model": "${model}", "input": "Hello", "store": false }'`,
    embeddings: ({ baseUrl, model }) => `curl ${baseUrl}/v1/embeddings \\
  -H "authorization: Bearer $MODEL_GATEWAY_API_KEY" \\
  -H "content-type: application/json" \\
  -d '{ "model": "${model}", "input": ["Hello", "Good morning"] }'`,
    rerank: ({ baseUrl, model }) => `curl ${baseUrl}/v1/rerank \\
  -H "authorization: Bearer $MODEL_GATEWAY_API_KEY" \\
  -H "content-type: application/json" \\
  -d '{
    "model": "${model}",
    "query": "What do cats eat?",
    "documents": ["Cats eat meat.", "Cars need fuel."]
  }'`,
    image_generation: ({ baseUrl, model }) => `curl ${baseUrl}/v1/images/generations \\
  -H "authorization: Bearer $MODEL_GATEWAY_API_KEY" \\
  -H "content-type: application/json" \\
  -d '{ "model": "${model}", "prompt": "A cat on a roof" }'`,
    speech: ({ baseUrl, model }) => `curl ${baseUrl}/v1/audio/speech \\
  -H "authorization: Bearer $MODEL_GATEWAY_API_KEY" \\
  -H "content-type: application/json" \\
  -d '{ "model": "${model}", "voice": "alloy", "input": "Good morning" }' \\
  -o speech.mp3`,
    transcription: ({ baseUrl, model }) => `curl ${baseUrl}/v1/audio/transcriptions \\
  -H "authorization: Bearer $MODEL_GATEWAY_API_KEY" \\
  -F model=${model} -F file=@speech.mp3`,
  },
  python: {
    chat: ({ baseUrl, model }) => `import os
from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key=os.environ["MODEL_GATEWAY_API_KEY"])
completion = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(completion.choices[0].message.content)`,
    messages: ({ baseUrl, model }) => `import os
from anthropic import Anthropic

client = Anthropic(base_url="${baseUrl}", api_key=os.environ["MODEL_GATEWAY_API_KEY"])
message = client.messages.create(
    model="${model}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello"}],
)
print(message.content[0].text)`,
    responses: ({ baseUrl, model }) => `import os
from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key=os.environ["MODEL_GATEWAY_API_KEY"])
response = client.responses.create(model="${model}", input="Hello", store=False)
print(response.output_text)`,
    embeddings: ({ baseUrl, model }) => `import os
from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key=os.environ["MODEL_GATEWAY_API_KEY"])
embeddings = client.embeddings.create(model="${model}", input=["Hello", "Good morning"])
print([len(each.embedding) for each in embeddings.data])`,
    rerank: ({ baseUrl, model }) => `import os
import cohere

client = cohere.ClientV2(base_url="${baseUrl}", api_key=os.environ["MODEL_GATEWAY_API_KEY"])
ranking = client.rerank(
    model="${model}",
    query="What do cats eat?",
    documents=["Cats eat meat.", "Cars need fuel."],
)
print([(each.index, each.relevance_score) for each in ranking.results])`,
    image_generation: ({ baseUrl, model }) => `import base64
import os
from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key=os.environ["MODEL_GATEWAY_API_KEY"])
images = client.images.generate(model="${model}", prompt="A cat on a roof")
with open("cat.png", "wb") as file:
    file.write(base64.b64decode(images.data[0].b64_json))`,
    speech: ({ baseUrl, model }) => `import os
from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key=os.environ["MODEL_GATEWAY_API_KEY"])
with client.audio.speech.with_streaming_response.create(
    model="${model}", voice="alloy", input="Good morning"
) as speech:
    speech.stream_to_file("speech.mp3")`,
    transcription: ({ baseUrl, model }) => `import os
from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key=os.environ["MODEL_GATEWAY_API_KEY"])
with open("speech.mp3", "rb") as file:
    transcription = client.audio.transcriptions.create(model="${model}", file=file)
print(transcription.text)`,
  },
  javascript: {
    chat: ({ baseUrl, model }) => `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${baseUrl}/v1", apiKey: process.env.MODEL_GATEWAY_API_KEY });
const completion = await client.chat.completions.create({
  model: "${model}",
  messages: [{ role: "user", content: "Hello" }],
});
console.log(completion.choices[0].message.content);`,
    messages: ({ baseUrl, model }) => `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: "${baseUrl}", apiKey: process.env.MODEL_GATEWAY_API_KEY });
const message = await client.messages.create({
  model: "${model}",
  max_tokens: 1024,
  messages: [{ role: "user", content: "Hello" }],
});
console.log(message.content);`,
    responses: ({ baseUrl, model }) => `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${baseUrl}/v1", apiKey: process.env.MODEL_GATEWAY_API_KEY });
const response = await client.responses.create({ model: "${model}", input: "Hello", store: false });
console.log(response.output_text);`,
    embeddings: ({ baseUrl, model }) => `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${baseUrl}/v1", apiKey: process.env.MODEL_GATEWAY_API_KEY });
const embeddings = await client.embeddings.create({ model: "${model}", input: ["Hello", "Good morning"] });
console.log(embeddings.data.map(({ embedding }) => embedding.length));`,
    rerank: ({ baseUrl, model }) => `import { CohereClientV2 } from "cohere-ai";

const client = new CohereClientV2({ environment: "${baseUrl}", token: process.env.MODEL_GATEWAY_API_KEY });
const ranking = await client.rerank({
  model: "${model}",
  query: "What do cats eat?",
  documents: ["Cats eat meat.", "Cars need fuel."],
});
console.log(ranking.results.map(({ index, relevanceScore }) => [index, relevanceScore]));`,
    image_generation: ({ baseUrl, model }) => `import { writeFileSync } from "node:fs";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${baseUrl}/v1", apiKey: process.env.MODEL_GATEWAY_API_KEY });
const images = await client.images.generate({ model: "${model}", prompt: "A cat on a roof" });
writeFileSync("cat.png", Buffer.from(images.data[0].b64_json, "base64"));`,
    speech: ({ baseUrl, model }) => `import { writeFileSync } from "node:fs";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${baseUrl}/v1", apiKey: process.env.MODEL_GATEWAY_API_KEY });
const speech = await client.audio.speech.create({ model: "${model}", voice: "alloy", input: "Good morning" });
writeFileSync("speech.mp3", Buffer.from(await speech.arrayBuffer()));`,
    transcription: ({ baseUrl, model }) => `import { createReadStream } from "node:fs";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${baseUrl}/v1", apiKey: process.env.MODEL_GATEWAY_API_KEY });
const file = createReadStream("speech.mp3");
const transcription = await client.audio.transcriptions.create({ model: "${model}", file });
console.log(transcription.text);`,
  },
} as const satisfies Record<Language, Record<Interface, Snippet>>;
