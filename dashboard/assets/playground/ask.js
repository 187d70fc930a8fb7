// A request of the playground, and its answer.
import { chat } from "./chat.js";
import { eventsOf } from "./events.js";
import { forgetKey, playgroundKey } from "./key.js";
import { messages } from "./messages.js";
import { responses } from "./responses.js";

export const INTERFACES = { messages, chat, responses };

/** The chosen interface if the model has it; otherwise the one that shows the most. */
export function interfaceFor(offered, chosen) {
  return offered.includes(chosen) ? chosen : Object.keys(INTERFACES).find((each) => offered.includes(each));
}

async function send({ path, headers }, body, { form, signal }) {
  const key = await playgroundKey(form);
  return fetch(path, {
    method: "POST",
    signal,
    headers: { ...headers, "content-type": "application/json", authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
}

const problemOf = async (response) => {
  const body = await response.json().catch(() => null);
  return body?.error?.message ?? `The gateway answered ${response.status}.`;
};

export function newTurn() {
  return {
    role: "assistant",
    text: "",
    thinking: "",
    calls: [],
    /** What its protocol needs back in the next turn. */
    native: null,
    usage: null,
    stopReason: null,
    firstMs: null,
    wholeMs: null,
    requestId: null,
    problem: null,
    /** Nothing arrived: neither this turn nor the question becomes part of the conversation. */
    isFailed: false,
    isOver: false,
  };
}

/** Fills the turn, and calls `onUpdate` as it grows. Never throws: errors are recorded in the turn. */
export async function ask({ turn, protocol, body, form, signal, onUpdate }) {
  const started = performance.now();
  try {
    let response = await send(protocol, protocol.streamed(body), { form, signal });
    if (response.status === 401) {
      forgetKey();
      response = await send(protocol, protocol.streamed(body), { form, signal });
    }
    turn.requestId = response.headers.get("x-request-id");
    if (!response.ok) throw new Error(await problemOf(response));
    for await (const event of eventsOf(response.body)) {
      if (event.error) throw new Error(event.error.message);
      protocol.read(event, turn);
      if (turn.text !== "" || turn.thinking !== "" || turn.calls.length > 0) turn.firstMs ??= performance.now() - started;
      onUpdate();
    }
  } catch (error) {
    turn.problem = error.name === "AbortError" ? "Stopped. Tokens produced until then are charged." : error.message;
    // An incomplete call cannot be answered, and protocols reject incomplete items.
    turn.calls = [];
    turn.native = null;
    turn.isFailed = turn.text === "";
  }
  turn.calls = turn.calls.filter((call) => call !== undefined);
  if (turn.problem === null && turn.text === "" && turn.calls.length === 0) {
    turn.problem = "The model returned no text.";
    turn.isFailed = true;
  }
  turn.wholeMs = performance.now() - started;
  turn.isOver = true;
}
