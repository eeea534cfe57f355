// Keeps an open page true. A page works without it.
//
// <body data-refresh="5">      asks for the page anew every 5 s and swaps what changed
// <body data-live="/…/live?…"> follows an event stream; what it may say:
//     event: swap      data: {"html": "<div id=a>…"}   replaces the element of the same id
//     event: append    data: {"to": "list", "html": "<li id=b>…"}   adds to it; a known id is swapped
//     event: refresh   the page has changed: ask for it anew
//     event: end       nothing more will come
//   A message with an id moves the cursor: after a broken connection the stream is asked for what
//   comes behind it, by Last-Event-ID and, on a connection of our own, by ?after=.
//
// What is swapped is each element with data-part and an id. One that somebody is typing in is left.
"use strict";
(() => {
  const body = document.body;
  const status = document.getElementById("live-status");
  const say = (text) => { if (status && status.textContent !== text) status.textContent = text; };

  const parse = (html) => {
    const holder = document.createElement("template");
    holder.innerHTML = html;
    return holder.content.firstElementChild;
  };

  const typing = (old) => {
    const at = document.activeElement;
    const field = at && at.matches("input, textarea, select") && old.contains(at);
    return field || [...old.querySelectorAll("input:not([type=hidden]), textarea")].some(
      (one) => one.value !== one.defaultValue);
  };

  const swap = (old, fresh) => {
    if (old.isEqualNode(fresh) || typing(old)) return;
    for (const one of old.querySelectorAll("details[id][open]")) {
      const again = fresh.querySelector("#" + CSS.escape(one.id));
      if (again) again.open = true;
    }
    const held = document.activeElement;
    const focus = held && old.contains(held) ? held.id : "";
    old.replaceWith(fresh);
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  };

  const put = (fresh) => {
    const old = fresh && fresh.id && document.getElementById(fresh.id);
    if (old) swap(old, fresh);
    return Boolean(old);
  };

  // -- the page anew ---------------------------------------------------------------------------
  let asking = false, again = false;
  const refresh = async () => {
    if (asking) { again = true; return; }
    asking = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.redirected || answer.status === 401) {
        say("You are signed out. Reload this page to sign in again.");
        stop();
        return;
      }
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const fresh of page.querySelectorAll("[data-part][id]")) put(fresh);
      if (!broken) say("");
    } catch {
      say("Reconnecting…");
      if (!body.dataset.refresh) setTimeout(refresh, 1000);
    } finally {
      asking = false;
      if (again) { again = false; refresh(); }
    }
  };

  let soon = 0;
  const refreshSoon = () => { clearTimeout(soon); soon = setTimeout(refresh, 60); };

  const every = Number(body.dataset.refresh || 0) * 1000;
  const timer = every && setInterval(() => { if (!document.hidden) refresh(); }, every);

  // -- the stream ------------------------------------------------------------------------------
  let source = null, cursor = "", wait = 250, broken = false, over = false;
  const stop = () => { over = true; clearInterval(timer); source?.close(); };

  const follow = () => {
    if (over) return;
    const address = new URL(body.dataset.live, location.href);
    if (cursor) address.searchParams.set("after", cursor);
    source = new EventSource(address);
    const on = (name, act) => source.addEventListener(name, (event) => {
      if (event.lastEventId) cursor = event.lastEventId;
      act(event.data ? JSON.parse(event.data) : {});
    });
    source.onopen = () => {
      if (broken) refreshSoon();
      wait = 250;
      broken = false;
      say("");
    };
    on("swap", (told) => put(parse(told.html)));
    on("append", (told) => {
      const fresh = parse(told.html);
      if (!put(fresh)) document.getElementById(told.to)?.append(fresh);
    });
    on("refresh", refreshSoon);
    on("end", stop);
    source.onerror = () => {
      if (over) return;
      broken = true;
      say("Reconnecting…");
      // A browser comes back by itself after a lost connection, but not after an answer such as 503.
      if (source.readyState === EventSource.CLOSED) {
        setTimeout(follow, wait);
        wait = Math.min(wait * 2, 5000);
      }
    };
  };
  if (body.dataset.live) follow();
  addEventListener("pagehide", () => source?.close());
  addEventListener("pageshow", (event) => { if (event.persisted && body.dataset.live) follow(); });
})();
