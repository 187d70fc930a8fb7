// Links and forms that ask before they act: the form of their target page is shown in a dialog. If that page has no form, or
// requires a new sign-in, the browser goes there, as it does without scripts.
for (const link of document.querySelectorAll("a[data-dialog]"))
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    void ask(link.href, link);
  });

for (const form of document.querySelectorAll("form[data-dialog]"))
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const address = new URL(form.action);
    address.search = new URLSearchParams(new FormData(form)).toString();
    void ask(address.href, event.submitter);
  });

let isAsking = false;

async function ask(address, opener) {
  if (isAsking) return;
  isAsking = true;
  // A slow answer looks as if the click had been lost.
  opener.setAttribute("aria-busy", "true");
  const page = await load(address);
  opener.removeAttribute("aria-busy");
  isAsking = false;
  const form = page?.querySelector("main form[method=post]");
  if (form == null) location.assign(address);
  else open(page.querySelector("main h1").textContent, form, opener);
}

async function load(address) {
  try {
    const response = await fetch(address, { headers: { accept: "text/html" } });
    if (!response.ok || response.redirected) return undefined;
    return new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return undefined;
  }
}

function open(question, form, opener) {
  const dialog = document.createElement("dialog");
  const title = document.createElement("h2");
  title.id = "dialog-title";
  title.textContent = question;
  dialog.setAttribute("aria-labelledby", title.id);
  renameIds(form);
  dialog.append(title, document.adoptNode(form));
  form.classList.remove("card");
  const cancel = form.querySelector("[data-cancel]");
  cancel?.addEventListener("click", (event) => {
    event.preventDefault();
    dialog.close();
  });
  // Pressing Enter on the link must not also confirm the dialog.
  (form.querySelector("input:not([type=hidden])") ?? cancel)?.setAttribute("autofocus", "");
  const menu = opener.closest("details.menu");
  dialog.addEventListener("close", () => {
    dialog.remove();
    (menu?.querySelector("summary") ?? opener).focus();
  });
  if (menu !== null) menu.open = false;
  document.body.append(dialog);
  dialog.showModal();
}

// The page may have the same ids, and its elements come first: labels would name its fields instead of the dialog's.
function renameIds(form) {
  const renamed = (id) => `asked-${id}`;
  for (const element of form.querySelectorAll("[id]")) element.id = renamed(element.id);
  for (const attribute of ["for", "aria-describedby"])
    for (const element of form.querySelectorAll(`[${attribute}]`))
      element.setAttribute(attribute, element.getAttribute(attribute).split(" ").map(renamed).join(" "));
}

// A secret that is shown once: the page behind it waits until it is copied.
const once = document.querySelector("dialog[data-once]");
if (once !== null) {
  once.close();
  once.addEventListener("cancel", (event) => event.preventDefault());
  once.showModal();
  // A reload of this page would send its form again, and make or rotate another secret: it shows the page that follows.
  history.replaceState(null, "", once.querySelector("form").action);
}
