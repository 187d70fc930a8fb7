// A theme chosen here is stored in this browser; otherwise, and without scripts, pages follow the system.
const root = document.documentElement;
const KEY = "theme";

function show(theme) {
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  else delete root.dataset.theme;
}

function read() {
  try {
    return localStorage.getItem(KEY) ?? "system";
  } catch {
    return "system";
  }
}

function keep(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // A browser without storage keeps the choice only until the next page.
  }
}

// Before the page is drawn, to avoid a flash.
show(read());

document.addEventListener("DOMContentLoaded", () => {
  for (const group of document.querySelectorAll("[data-themes]")) {
    const buttons = [...group.querySelectorAll("button")];
    const mark = (theme) => {
      for (const button of buttons) button.setAttribute("aria-pressed", String(button.value === theme));
    };
    for (const button of buttons)
      button.addEventListener("click", () => {
        keep(button.value);
        show(button.value);
        mark(button.value);
      });
    mark(read());
    group.hidden = false;
  }
});
