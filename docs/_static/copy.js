/* A button on each block of code, which copies the code without prompts and without what it prints. */
"use strict";

/** The lines of a block to type: all of them, or those behind prompts where there are any. */
function codeOf(text) {
  const lines = text.replace(/\n+$/, "").split("\n");
  const prompt = /^(>>> ?|\.\.\. ?|\$ )/;
  if (!lines.some((line) => /^(>>>|\$ )/.test(line))) return lines.join("\n");
  const out = [];
  let continues = false; // a command whose line ends with a backslash goes on in the next one
  for (const [k, line] of lines.entries()) {
    // An empty line ends a block in an interactive session.
    if (line.startsWith(">>>") && k > 0 && lines[k - 1].startsWith("...")) out.push("");
    if (prompt.test(line) || continues) out.push(line.replace(prompt, ""));
    continues = (prompt.test(line) || continues) && line.endsWith("\\");
  }
  return out.join("\n");
}

/** Copies a text; pages opened from a folder may not have the clipboard of secure pages. */
async function copy(text) {
  if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

document.addEventListener("DOMContentLoaded", () => {
  for (const pre of document.querySelectorAll("div.highlight pre")) {
    if (pre.closest(".output, .member, .top, .highlight-text")) continue;
    const button = document.createElement("button");
    button.className = "copy";
    button.type = "button";
    button.textContent = "copy";
    button.setAttribute("aria-label", "Copy the code");
    button.addEventListener("click", async () => {
      await copy(codeOf(pre.textContent));
      button.textContent = "copied";
      setTimeout(() => (button.textContent = "copy"), 1500);
    });
    pre.parentElement.append(button);
  }
});
