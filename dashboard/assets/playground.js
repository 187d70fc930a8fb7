// Asks a model from the page, with a key that goes nowhere else. Reads the events of either interface.
const part = (id) => document.getElementById(id);
const form = part("playground");
let running = null;

function show(id, isShown) {
  part(id).hidden = !isShown;
}

/** Only models that the chosen interface has. */
function offerModels() {
  const wanted = part("interface").value;
  const options = [...part("model").options];
  for (const option of options) {
    option.disabled = !option.dataset.interfaces.split(" ").includes(wanted);
    option.hidden = option.disabled;
  }
  if (part("model").selectedOptions[0]?.disabled !== false)
    part("model").value = options.find((option) => !option.disabled)?.value ?? "";
}

const INTERFACES = {
  chat: {
    path: "/v1/chat/completions",
    body: ({ model, system, prompt }) => ({
      model,
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 2000,
      messages: [...(system === "" ? [] : [{ role: "system", content: system }]), { role: "user", content: prompt }],
    }),
    read(event, seen) {
      const delta = event.choices?.[0]?.delta ?? {};
      seen.text(delta.content ?? "");
      seen.reasoning(delta.reasoning_content ?? "");
      if (event.usage) {
        const cached = event.usage.prompt_tokens_details?.cached_tokens ?? 0;
        seen.usage({ input: event.usage.prompt_tokens - cached, cached, written: 0, output: event.usage.completion_tokens });
      }
    },
  },
  messages: {
    path: "/v1/messages",
    body: ({ model, system, prompt }) => ({
      model,
      stream: true,
      max_tokens: 2000,
      ...(system === "" ? {} : { system }),
      messages: [{ role: "user", content: prompt }],
    }),
    read(event, seen) {
      const usage = event.message?.usage ?? event.usage;
      if (usage)
        seen.usage({
          input: usage.input_tokens,
          cached: usage.cache_read_input_tokens,
          written: usage.cache_creation_input_tokens,
          output: usage.output_tokens,
        });
      seen.text(event.delta?.text ?? "");
      seen.reasoning(event.delta?.thinking ?? "");
    },
  },
};

/** The JSON of each event of a stream. */
async function* eventsOf(body) {
  let rest = "";
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + piece).split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block
        .split(/\r?\n/)
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).trim())
        .join("\n");
      if (data !== "" && data !== "[DONE]") yield JSON.parse(data);
    }
  }
}

/** USD of an answer at the prices that the page came with, exact. */
function costOf({ input = 0, cached = 0, written = 0, output = 0 }) {
  const prices = part("model").selectedOptions[0].dataset.prices.split(" ").map(BigInt);
  const pico = [input, cached, written, output].reduce((sum, count, index) => sum + BigInt(count ?? 0) * prices[index], 0n);
  return `$${(Number(pico) / 1e12).toFixed(9).replace(/0{1,7}$/, "")}`;
}

async function ask(signal) {
  const { path, body, read } = INTERFACES[part("interface").value];
  const question = { model: part("model").value, system: part("system").value.trim(), prompt: part("prompt").value };
  const started = performance.now();
  let firstMs = null;
  let usage = {};
  const add = (id, text) => {
    if (text === "") return;
    firstMs ??= performance.now() - started;
    part(id).textContent += text;
  };
  const response = await fetch(path, {
    method: "POST",
    signal,
    headers: { "content-type": "application/json", authorization: `Bearer ${part("key").value.trim()}` },
    body: JSON.stringify(body(question)),
  });
  if (!response.ok) throw new Error((await response.json()).error?.message ?? `The gateway answered ${response.status}.`);
  const requestId = response.headers.get("x-request-id");
  if (requestId !== null) {
    part("details").href = `/dashboard/usage/requests/${encodeURIComponent(requestId)}`;
    show("details", true);
  }
  for await (const event of eventsOf(response.body)) {
    if (event.error) throw new Error(event.error.message);
    read(event, {
      text: (text) => add("answer", text),
      reasoning(text) {
        add("reasoning", text);
        if (text !== "") show("thinking", true);
      },
      usage(counts) {
        usage = { ...usage, ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined)) };
      },
    });
  }
  const input = (usage.input ?? 0) + (usage.cached ?? 0) + (usage.written ?? 0);
  part("facts").textContent =
    `${input} tokens in, ${usage.output ?? 0} out; ${costOf(usage)}; ` +
    `first word after ${Math.round(firstMs ?? 0)} ms, all after ${Math.round(performance.now() - started)} ms.`;
}

async function run() {
  for (const id of ["answer", "reasoning", "facts", "problem"]) part(id).textContent = "";
  for (const id of ["problem", "thinking", "details"]) show(id, false);
  show("result", true);
  running = new AbortController();
  show("stop", true);
  part("send").disabled = true;
  try {
    await ask(running.signal);
  } catch (error) {
    part("problem").textContent = error.name === "AbortError" ? "Stopped. What was answered so far is charged." : error.message;
    show("problem", true);
  } finally {
    running = null;
    show("stop", false);
    part("send").disabled = false;
  }
}

part("interface").addEventListener("change", offerModels);
part("stop").addEventListener("click", () => running?.abort());
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (running === null) void run();
});
offerModels();
// Before this, a click would send the form itself and lose the question.
part("send").disabled = false;
