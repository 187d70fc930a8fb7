// Buttons that copy a text, for browsers that run scripts; without, the text can be selected as any other.
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
