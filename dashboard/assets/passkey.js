// Passkeys: a form carries the options for the browser, and returns the browser's answer.
const isSupported = typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === "function";

async function answer(form) {
  const options = JSON.parse(form.dataset.options);
  if (form.dataset.passkey === "create")
    return navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
  return navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
}

function problemOf(error) {
  if (error.name === "InvalidStateError") return "This device already has a passkey for you.";
  if (error.name === "NotAllowedError") return "No passkey was used: you canceled, it took too long, or none matches. Try again.";
  return `Your browser could not use a passkey: ${error.message}`;
}

async function send(form) {
  const [button, problem] = [form.querySelector("button"), form.querySelector("[data-problem]")];
  button.disabled = true;
  problem.hidden = true;
  try {
    form.elements.credential.value = JSON.stringify(await answer(form));
    form.submit();
  } catch (error) {
    problem.textContent = problemOf(error);
    problem.hidden = false;
    button.disabled = false;
  }
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (!isSupported) continue;
  form.querySelector("[data-unsupported]")?.remove();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send(form);
  });
  form.querySelector("button").disabled = false;
}
