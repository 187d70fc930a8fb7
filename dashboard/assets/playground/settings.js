// Settings next to the conversation.
const part = (id) => document.getElementById(id);

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** @returns tools in one format, whichever protocol's format they were written in. @throws Error that explains the problem. */
export function parseTools(text) {
  if (text.trim() === "") return [];
  let list;
  try {
    list = JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not JSON: ${error.message}`, { cause: error });
  }
  if (!Array.isArray(list)) throw new Error("Enter a JSON list: [ … ]");
  return list.map((each, index) => parseTool(each?.function ?? each, index + 1));
}

function parseTool(tool, position) {
  if (typeof tool !== "object" || tool === null) throw new Error(`Tool ${position} is not an object.`);
  const { name, description = "", input_schema: inputSchema, parameters } = tool;
  if (typeof name !== "string" || !NAME.test(name))
    throw new Error(`Tool ${position} needs a name of letters, digits, _ and -, at most 64 characters.`);
  const schema = inputSchema ?? parameters ?? { type: "object", properties: {} };
  if (typeof schema !== "object" || schema === null || schema.type !== "object")
    throw new Error(`The input_schema of ${name} needs "type": "object".`);
  return { name, description: String(description), schema };
}

const numberOf = (id) => (part(id).value === "" ? null : Number(part(id).value));

/** @throws Error for invalid tools. */
export function readSettings() {
  return {
    system: part("system").value.trim(),
    effort: part("effort").value,
    maxTokens: numberOf("max-tokens"),
    temperature: numberOf("temperature"),
    topP: numberOf("top-p"),
    tools: parseTools(part("tools").value),
  };
}

/** A problem with the tools is shown below them as soon as they are entered. */
export function watchTools() {
  part("tools").addEventListener("input", () => {
    let problem = "";
    try {
      parseTools(part("tools").value);
    } catch (error) {
      problem = error.message;
    }
    part("tools-problem").textContent = problem;
    part("tools-problem").hidden = problem === "";
    part("tools").toggleAttribute("aria-invalid", problem !== "");
  });
}
