// What every page does where scripts run: buttons that copy, menus that close, toasts that go away.
for (const button of document.querySelectorAll("button[data-copy]")) {
  const text = document.getElementById(button.dataset.copy);
  if (text === null || navigator.clipboard === undefined) continue;
  button.hidden = false;
  const copy = async () => {
    await navigator.clipboard.writeText(text.textContent.trim());
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  };
  button.addEventListener("click", () => {
    void copy();
  });
}

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
