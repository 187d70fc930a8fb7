// The conversation as code: a request body in three languages. Keys come from the environment, never from this page.
const SHORT = 60;

/** Images would fill the page. */
function shorten(value) {
  if (typeof value === "string") {
    const isData = /^(?:data:image\/|[A-Za-z0-9+/]{200})/.test(value);
    return isData ? `${value.slice(0, SHORT)}…` : value;
  }
  if (Array.isArray(value)) return value.map(shorten);
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shorten(each)]));
  return value;
}

function python(value, indent) {
  const next = `${indent}    `;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((each) => `${next}${python(each, next)},\n`).join("")}${indent}]`;
  }
  if (typeof value === "object") {
    const entries = Object.entries(value);
    if (entries.length === 0) return "{}";
    return `{\n${entries.map(([name, each]) => `${next}${JSON.stringify(name)}: ${python(each, next)},\n`).join("")}${indent}}`;
  }
  return JSON.stringify(value);
}

const PLAIN = /^[A-Za-z_$][\w$]*$/;

function javascript(value, indent) {
  const next = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((each) => `${next}${javascript(each, next)},\n`).join("")}${indent}]`;
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([name, each]) => [PLAIN.test(name) ? name : JSON.stringify(name), each]);
    if (entries.length === 0) return "{}";
    return `{\n${entries.map(([name, each]) => `${next}${name}: ${javascript(each, next)},\n`).join("")}${indent}}`;
  }
  return JSON.stringify(value);
}

/** Each interface's client library and call. */
const SDKS = {
  chat: { call: "chat.completions.create", isOpenai: true },
  responses: { call: "responses.create", isOpenai: true },
  messages: { call: "messages.create", isOpenai: false },
};

function curlCode({ baseUrl, protocol, body }) {
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
  const headers = Object.entries({
    authorization: "Bearer $MODEL_GATEWAY_API_KEY",
    "content-type": "application/json",
    ...protocol.headers,
  });
  return [
    `curl ${baseUrl}${protocol.path}`,
    ...headers.map(([name, value]) => `  -H "${name}: ${value}"`),
    `  -d '${json}'`,
  ].join(" \\\n");
}

function pythonCode({ baseUrl, interfaceName, body }) {
  const { call, isOpenai } = SDKS[interfaceName];
  const fields = Object.entries(body).map(([name, value]) => `    ${name}=${python(value, "    ")},\n`);
  const [library, client, base] = isOpenai ? ["openai", "OpenAI", `${baseUrl}/v1`] : ["anthropic", "Anthropic", baseUrl];
  return `import os
from ${library} import ${client}

client = ${client}(base_url="${base}", api_key=os.environ["MODEL_GATEWAY_API_KEY"])
response = client.${call}(
${fields.join("")})
print(response)`;
}

function javascriptCode({ baseUrl, interfaceName, body }) {
  const { call, isOpenai } = SDKS[interfaceName];
  const [library, client, base] = isOpenai ? ["openai", "OpenAI", `${baseUrl}/v1`] : ["@anthropic-ai/sdk", "Anthropic", baseUrl];
  return `import ${client} from "${library}";

const client = new ${client}({ baseURL: "${base}", apiKey: process.env.MODEL_GATEWAY_API_KEY });
const response = await client.${call}(${javascript(body, "")});
console.log(response);`;
}

const LANGUAGES = { curl: curlCode, python: pythonCode, javascript: javascriptCode };

export function codeFor(language, request) {
  return LANGUAGES[language]({ ...request, body: shorten(request.body) });
}
