// Follows a list: while "Live" is on, its part of the page is reloaded every few seconds.
const EVERY_MS = 5000;
const button = document.querySelector("button[data-live]");
let timer;

async function refresh() {
  if (!document.hidden) {
    const response = await fetch(location.href);
    // An ended session leads to the sign-in page, and an error page has no list.
    if (!response.ok || response.redirected) return stop();
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const part = page.querySelector("[data-live-part]");
    if (part === null) return stop();
    document.querySelector("[data-live-part]").replaceWith(part);
  }
  if (button.getAttribute("aria-pressed") === "true") timer = setTimeout(tick, EVERY_MS);
}

function tick() {
  refresh().catch(stop);
}

function stop() {
  clearTimeout(timer);
  button.setAttribute("aria-pressed", "false");
}

if (button !== null) {
  button.hidden = false;
  button.addEventListener("click", () => {
    if (button.getAttribute("aria-pressed") === "true") return stop();
    button.setAttribute("aria-pressed", "true");
    tick();
  });
}
