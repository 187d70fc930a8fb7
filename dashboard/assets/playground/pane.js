// A model and its conversation.
import { ask, INTERFACES, interfaceFor, newTurn } from "./ask.js";
import { costOf, showUsd } from "./cost.js";
import { assistantView, toolTurn, userTurn } from "./turn-view.js";

/** At this distance from the end, someone is reading earlier text: the view stays. */
const FOLLOW_PX = 80;

/** @param onChange called when a request begins or ends. */
export function createPane({ root, form, settings, chosenInterface, onChange }) {
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const [select, list, total, empty] = ["model", "turns", "total", "empty"].map(part);
  let turns = [];
  let running = null;
  let picoUsd = 0n;
  let tokens = 0;

  const option = () => select.selectedOptions[0];
  const interfaceName = () => interfaceFor(option().dataset.interfaces.split(" "), chosenInterface());
  /** Failed turns are left out, together with their questions. */
  const history = () => turns.filter(({ isFailed }) => isFailed !== true);

  function show(element) {
    const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < FOLLOW_PX;
    empty.hidden = true;
    list.append(element);
    if (isAtEnd) list.scrollTop = list.scrollHeight;
  }

  function bodyOf(sent) {
    const protocol = INTERFACES[interfaceName()];
    const limit = Number(option().dataset.maxOutput);
    const { maxTokens, ...others } = settings();
    const bounded = { ...others, maxTokens: maxTokens === null ? null : Math.min(maxTokens, limit) };
    return { protocol, body: protocol.body({ model: select.value, settings: bounded, turns: sent }) };
  }

  function addToTotal(turn, prices) {
    if (turn.usage === null) return;
    picoUsd += costOf(turn.usage, prices);
    tokens += turn.usage.input + turn.usage.cached + turn.usage.written + turn.usage.output;
    total.textContent = `${tokens.toLocaleString("en-US")} tokens, ${showUsd(picoUsd)}`;
  }

  async function answer() {
    // Before anything is shown, so that errors in the tools are reported at once.
    const { protocol, body } = bodyOf(history());
    const prices = option().dataset.prices.split(" ").map(BigInt);
    const turn = newTurn();
    const question = turns.at(-1);
    const view = assistantView({
      model: select.value,
      prices,
      onResults: (results) => sendTurn({ role: "tool", results }, toolTurn),
      onRetry: () => retry(view.root, question),
    });
    show(view.root);
    running = new AbortController();
    onChange();
    const onUpdate = () => {
      const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < FOLLOW_PX;
      view.update(turn);
      if (isAtEnd) list.scrollTop = list.scrollHeight;
    };
    await ask({ turn, protocol, body, form, signal: running.signal, onUpdate });
    running = null;
    if (turn.isFailed) question.isFailed = true;
    turns.push(turn);
    addToTotal(turn, prices);
    view.finish(turn);
    list.scrollTop = list.scrollHeight;
    onChange();
  }

  function retry(failed, question) {
    if (running !== null) return;
    failed.remove();
    turns = turns.filter((each) => each !== question && each.isFailed !== true);
    question.isFailed = false;
    turns.push(question);
    void answer();
  }

  /** @returns false while an answer is streaming. */
  function sendTurn(turn, view) {
    if (running !== null) return false;
    turns.push(turn);
    show(view(turn));
    void answer();
    return true;
  }

  return {
    get isRunning() {
      return running !== null;
    },
    get isEmpty() {
      return turns.length === 0;
    },
    /** Unanswered calls: the protocols accept nothing else before their results. */
    get isWaitingForResults() {
      return (history().at(-1)?.calls?.length ?? 0) > 0;
    },
    send: ({ text, images }) => sendTurn({ role: "user", text, images }, userTurn),
    stop: () => running?.abort(),
    clear() {
      turns = [];
      picoUsd = 0n;
      tokens = 0;
      total.textContent = "";
      list.replaceChildren(empty);
      empty.hidden = false;
    },
    /** With a draft the next request; without one the last, and for want of that an example. */
    request(draft) {
      const past = history();
      const asked = past.slice(0, past.findLastIndex(({ role }) => role !== "assistant") + 1);
      const isNext = draft !== "" || asked.length === 0;
      const sent = isNext ? [...past, { role: "user", text: draft || "Hello", images: [] }] : asked;
      return { interfaceName: interfaceName(), ...bodyOf(sent) };
    },
    setVisible(isVisible) {
      root.hidden = !isVisible;
    },
  };
}
