// Sends the page's forms beside it, keeps the end of a conversation in sight, opens what asks to be
// filled in. Without it, forms are sent and pages are loaded.
"use strict";
(() => {
  const note = document.getElementById("note");
  const tell = (text) => {
    note.textContent = text;
    note.hidden = !text;
    note.classList.toggle("bad", Boolean(text));
  };

  // -- the end in sight ------------------------------------------------------------------------
  for (const log of document.querySelectorAll(".log[role=log]")) {
    let end = true;
    const down = () => { if (end) log.scrollTop = log.scrollHeight; };
    log.addEventListener("scroll", () => {
      end = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    }, { passive: true });
    new MutationObserver(down).observe(log, { childList: true, subtree: true, characterData: true });
    down();
  }
  for (const field of document.querySelectorAll("[data-start]")) {
    field.setSelectionRange(field.value.length, field.value.length);
  }

  // -- modals ----------------------------------------------------------------------------------
  const stage = document.getElementById("stage");
  const raise = () => {
    const dialog = stage.querySelector("dialog[data-modal]");
    if (!dialog || dialog.matches(":modal")) return;
    dialog.close();
    dialog.showModal();
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      dialog.querySelector("form[data-close]").requestSubmit();
    });
  };
  const showModal = (html) => {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    const fresh = holder.content.firstElementChild;
    const old = document.getElementById("modal");
    if (!fresh || old.isEqualNode(fresh)) return;
    old.replaceWith(fresh);
    raise();
    const wrong = fresh.querySelector("[aria-invalid]");
    if (wrong) wrong.focus();
  };
  new MutationObserver(raise).observe(stage, { childList: true });
  raise();

  // -- forms -----------------------------------------------------------------------------------
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.getAttribute("method") !== "post") return;
    event.preventDefault();
    const sent = new URLSearchParams(new FormData(form, event.submitter));
    const field = "clear" in form.dataset ? form.querySelector("textarea") : null;
    const text = field?.value;
    if (field) field.value = field.dataset.start ?? "";
    try {
      const answer = await fetch(form.getAttribute("action"), {
        method: "POST", body: sent, headers: { Accept: "application/json" },
      });
      if (!answer.ok) throw new Error(String(answer.status));
      const told = await answer.json();
      tell(told.note);
      if (told.note && field) field.value = text;
      if (told.go) location.assign(told.go);
      else if (stage.contains(form)) showModal(told.modal);
    } catch {
      if (field) field.value = text;
      tell("The gateway can't be reached. Is gateway dev still running?");
    }
  });
  document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    if (!(field instanceof HTMLTextAreaElement) || !field.closest(".composer")) return;
    event.preventDefault();
    field.form.requestSubmit();
  });
})();
