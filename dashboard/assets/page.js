// Scripts of every page: buttons that copy, menus that close, toasts that disappear, the place in the navigation, errors of forms.
for (const button of document.querySelectorAll("button[data-copy]")) {
  const text = document.getElementById(button.dataset.copy);
  if (text === null) continue;
  button.hidden = false;
  // What is copied follows, for screen readers.
  const [word] = button.childNodes;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text.textContent.trim());
      word.data = "Copied";
    } catch {
      // Without https there is no clipboard: as if by Ctrl+C.
      getSelection().selectAllChildren(text);
      word.data = document.execCommand("copy") ? "Copied" : "Selected";
    }
    setTimeout(() => {
      word.data = "Copy";
    }, 2000);
  };
  button.addEventListener("click", () => {
    void copy();
  });
}

const sidebar = document.getElementById("sidebar");
const showCurrentSection = () => sidebar?.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest" });
sidebar?.addEventListener("toggle", showCurrentSection);
// Once everything below the navigation is shown, and has taken its room.
document.addEventListener("DOMContentLoaded", showCurrentSection);

const openMenus = () => document.querySelectorAll("details.menu[open]");
document.addEventListener("click", ({ target }) => {
  for (const menu of openMenus()) if (!menu.contains(target)) menu.open = false;
});
document.addEventListener("keydown", ({ key }) => {
  if (key !== "Escape") return;
  for (const menu of openMenus()) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

for (const toast of document.querySelectorAll(".toast")) {
  const button = toast.querySelector("button");
  button.hidden = false;
  button.addEventListener("click", () => toast.remove());
}

// The first field with an error, which may be far below, or what is wrong with a group of boxes or the form as a whole.
document.querySelector("main form :is(.field [aria-invalid], .problem[tabindex])")?.focus();

// Input typed before a session ended.
const draft = document.querySelector("[data-draft]");
if (draft !== null) {
  const fields = JSON.parse(draft.dataset.fields);
  for (const form of document.querySelectorAll("form[method=post]")) {
    if (form.getAttribute("action") !== draft.dataset.draft) continue;
    for (const element of form.elements) {
      if (element.type === "hidden" || !(element.name in fields)) continue;
      const value = fields[element.name];
      if (element.type === "checkbox") element.checked = value.split(",").includes(element.value);
      else if (element.type === "radio") element.checked = element.value === value;
      else element.value = value;
    }
  }
}
