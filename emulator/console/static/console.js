// What pages need beyond htmx: live updates that leave everything in its place, forms that keep what was typed,
// the state of the connection, keys, copying. No inline scripts. What an execution's page has is in execution.js.
"use strict";
(() => {
  const content = document.getElementById("content");
  const told = document.getElementById("connection");
  const say = told.dataset;
  const typing = (event) => /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  const folded = new Map();
  const streams = [];
  const latest = new WeakMap();
  let seen = document.body.dataset.since;
  let asked = false;
  let missed = false; // something was not shown because text was marked
  let lost = 0;
  let awaited = false;

  // Live updates. What has changed is morphed, the page or a part of it: focus, scrolling, what is folded and what was
  // typed stay as they are.
  const dirty = (each) =>
    each.tagName === "SELECT"
      ? [...each.options].some((option) => option.selected !== option.defaultSelected) && each.selectedIndex > 0
      : /^(INPUT|TEXTAREA)$/.test(each.tagName) && each.type !== "hidden" && each.value !== each.defaultValue;
  const morph = (place, text) => {
    Idiomorph.morph(place, text, {
      morphStyle: "innerHTML",
      restoreFocus: true,
      callbacks: {
        beforeNodeMorphed: (old) => !(old.nodeType === 1 && ("stay" in old.dataset || dirty(old))),
        beforeAttributeUpdated: (name, node, kind) =>
          name !== "style" &&
          !(name === "open" && node.dataset.keep) &&
          !(kind === "remove" && node.matches(".graph .step")), // what makes it a button
        afterNodeAdded: (node) => {
          if (node.nodeType !== 1) return;
          for (const each of [node, ...node.querySelectorAll("details[data-keep]")]) {
            if (folded.has(each.dataset.keep)) each.open = folded.get(each.dataset.keep);
          }
        },
      },
    });
    htmx.process(place);
    document.dispatchEvent(new Event("console:shown"));
    if (awaited) content.querySelector("#received, #result")?.scrollIntoView({ block: "center" });
    awaited = false;
  };
  content.addEventListener("toggle", (event) => folded.set(event.target.dataset.keep, event.target.open), true);
  // It is asked for under the address that is shown, which the slider and chosen steps change.
  document.body.addEventListener("htmx:configRequest", (event) => {
    if ("shows" in event.detail.elt.dataset) event.detail.path = location.pathname + location.search;
  });
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const { target, xhr } = event.detail;
    if (!("shows" in target.dataset)) return;
    event.detail.shouldSwap = false;
    if (xhr.status === 401) return away(say.other);
    if (target !== content && xhr.status !== 200) return look(); // the part is gone, or the whole of it
    const chosen = document.getSelection();
    const reading = chosen && !chosen.isCollapsed && target.contains(chosen.anchorNode) && !asked;
    if (target === content) asked = false;
    missed ||= reading;
    if (xhr.responseText === latest.get(target) || reading) return;
    latest.delete(content);
    latest.set(target, xhr.responseText);
    morph(target, xhr.responseText);
  });
  document.body.addEventListener("htmx:sendError", () => away(say.lost));
  const look = () => htmx.trigger(content, "look");
  // Names of what has changed begin with a kind: "queue/orders". What shows "queue" shows each of them. The clock is in
  // everything.
  const within = (one, other) => other === one || other.startsWith(`${one}/`);
  const changed = (names) => {
    const shows = (each) =>
      each.dataset.shows.split(" ").some((shown) => shown && names.some((name) => within(shown, name) || within(name, shown)));
    if (names.includes("*") || names.includes("clock") || shows(content)) return look();
    for (const each of content.querySelectorAll("[data-shows]")) if (shows(each)) htmx.trigger(each, "look");
  };
  document.addEventListener("selectionchange", () => {
    if (!missed || !document.getSelection().isCollapsed) return;
    missed = false;
    look();
  });
  const show = (address, keep) => {
    if (!content.hasAttribute("hx-get")) return location.assign(address);
    history[keep ? "replaceState" : "pushState"](null, "", address);
    asked = true;
    look();
  };

  // The connection. While it is lost the page says so and asks every second; the cookie outlives a restart.
  const away = (text) => {
    told.textContent = text;
    told.hidden = false;
    if (!lost) lost = setInterval(ask, 1000);
  };
  const ask = async () => {
    let answer;
    try {
      answer = await fetch(location.href, { redirect: "error", cache: "no-store" });
    } catch {
      return away(say.lost);
    }
    if (answer.status === 401) return away(say.other);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const token = page.body.getAttribute("hx-headers");
    if (!token || !lost) return;
    clearInterval(lost);
    lost = 0;
    document.body.setAttribute("hx-headers", token);
    for (const each of document.querySelectorAll("input[name=csrf]")) each.value = JSON.parse(token)["X-CSRF"];
    told.hidden = true;
    while (streams.length) streams.pop().close();
    seen = "";
    listen();
  };
  // What changes is told by the server while the page can be seen: a browser has six connections to a server only, for
  // all pages together.
  const follow = (address, name, then) => {
    const source = new EventSource(address);
    source.addEventListener(name, then);
    source.addEventListener("error", () => document.hidden || away(say.lost));
    streams.push(source);
  };
  const listen = () => {
    const { changes } = document.body.dataset;
    if (content.hasAttribute("hx-get"))
      follow(`${changes}?since=${seen}`, "change", (event) => {
        seen = event.lastEventId;
        changed(event.data.split("\n"));
      });
    for (const log of document.querySelectorAll("pre[data-follow]")) {
      log.textContent = "";
      follow(log.dataset.follow, "log", (event) => {
        log.append(event.data);
        while (log.childNodes.length > 2000) log.firstChild.remove();
        if (!log.matches(":hover")) log.scrollTop = log.scrollHeight;
      });
    }
  };
  const heed = () => {
    while (streams.length) streams.pop().close();
    if (!document.hidden) listen();
  };
  window.addEventListener("pagehide", () => {
    while (streams.length) streams.pop().close();
  });
  window.addEventListener("pageshow", (event) => event.persisted && listen());
  // htmx takes nothing before it has seen the page: when all scripts are there, which the last may be long after this.
  document.addEventListener("DOMContentLoaded", () => {
    heed();
    document.addEventListener("visibilitychange", heed);
  });

  // Forms are sent by script: a refusal stands in the form, and what was typed stays.
  const refuse = (form, text) => {
    form.querySelector("[data-refused]")?.remove();
    if (!text) return;
    const line = document.createElement("p");
    line.className = "problem";
    line.dataset.refused = "";
    line.setAttribute("role", "alert");
    line.textContent = text;
    form.prepend(line);
  };
  const reason = async (answer) => {
    const text = await answer.text();
    if (!answer.headers.get("Content-Type").startsWith("text/html")) return text;
    return new DOMParser().parseFromString(text, "text/html").querySelector("main p:not([hidden])").textContent;
  };
  const send = async (form, button) => {
    let answer;
    const fields = new FormData(form, button);
    const files = form.enctype === "multipart/form-data";
    const body = files ? fields : new URLSearchParams(fields);
    const headers = { "X-Post": "1", "X-CSRF": fields.get("csrf") };
    try {
      answer = await fetch(form.getAttribute("action"), { method: "POST", body, headers });
    } catch {
      away(say.lost);
      return refuse(form, say.unsent);
    }
    if (answer.status === 401) away(say.other);
    const next = answer.headers.get("X-Go");
    if (!next) return refuse(form, await reason(answer));
    refuse(form, "");
    const address = new URL(next, location.href);
    // The way back to an execution leads to the step that is chosen by now.
    const chosen = new URLSearchParams(location.search);
    for (const name of ["step", "about"])
      if (address.pathname === location.pathname && !address.search && chosen.has(name))
        address.searchParams.set(name, chosen.get(name));
    if (!("stay" in form.dataset) && !form.closest("[data-stay]")) form.reset();
    awaited = address.search !== location.search; // what the post has answered stands there
    if (address.pathname === location.pathname) show(address.href, address.search === location.search);
    else location.assign(address.href);
  };
  const sure = (question) =>
    new Promise((resolve) => {
      const dialog = document.getElementById("ask");
      dialog.querySelector("p").textContent = question;
      dialog.returnValue = "";
      dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
      dialog.showModal();
    });
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const button = event.submitter;
    if (form.method !== "post" || !form.closest("main")) return;
    event.preventDefault();
    if (form.ariaBusy === "true") return;
    const question = button?.dataset.ask;
    if (question && !(await sure(question))) return;
    form.ariaBusy = "true";
    await send(form, button);
    form.ariaBusy = null;
  });

  // Times say how long ago they are by the emulator's clock, and the moment itself, here and in UTC, when pointed at.
  const { lang } = document.documentElement;
  const spans = new Intl.RelativeTimeFormat(lang, { numeric: "always", style: "narrow" });
  const here = new Intl.DateTimeFormat(lang, { dateStyle: "medium", timeStyle: "long" });
  const UNITS = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000], ["second", 1000]];
  const relative = (off) => {
    const [unit, ms] = UNITS.find((each) => Math.abs(off) >= each[1]) ?? UNITS.at(-1);
    return spans.format(Math.trunc(off / ms) || (off > 0 ? 0 : -0), unit); // what is now has been, and is not to come
  };
  const by = (clock) => (clock.dataset.clock === "runs" ? Date.now() : 0) + Number(clock.dataset.ahead);
  const coming = new WeakSet();
  const age = () => {
    const clock = document.getElementById("ahead");
    const due = new Set();
    for (const each of clock ? document.querySelectorAll("time.ago") : []) {
      const off = Date.parse(each.dateTime) - by(clock);
      // What was to come has come: a message is visible, a schedule has fired. Nothing was written, so nobody tells.
      if (off > 0) coming.add(each);
      else if (coming.delete(each)) due.add(each.closest("[hx-get]") ?? content);
      const text = relative(off);
      if (each.textContent !== text) each.textContent = text;
      const title = `${here.format(Date.parse(each.dateTime))} · ${each.dateTime}`;
      if (each.title !== title) each.title = title;
    }
    for (const each of due) htmx.trigger(each, "look");
  };

  // On a narrow screen a row of a table is a card: each cell says what it is, and is left out when nothing is in it.
  const name = () => {
    for (const table of content.querySelectorAll("table")) {
      const names = [...(table.tHead?.rows[0].cells ?? [])].map((each) => each.textContent);
      for (const row of table.tBodies[0]?.rows ?? [])
        [...row.cells].reduce((at, cell) => {
          if (names[at] && cell.colSpan === 1) cell.dataset.name = names[at];
          cell.toggleAttribute("data-blank", !cell.firstElementChild && !cell.textContent.trim());
          return at + cell.colSpan;
        }, 0);
    }
  };
  name();
  document.addEventListener("console:shown", name);

  // A clock that is shown goes on between two updates. A jump is run through in a second, so that the eye can follow it.
  const JUMP_MS = 1000;
  const clocks = new WeakMap();
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let jump = 0;
  const tick = () => {
    const now = Date.now();
    let jumps = false;
    for (const each of document.querySelectorAll("time[data-clock]")) {
      const aim = by(each);
      const runs = each.dataset.clock === "runs";
      const clock = clocks.get(each) || { aim, runs, at: now, from: aim, since: 0 };
      const expected = clock.aim + (clock.runs ? now - clock.at : 0);
      if (Math.abs(aim - expected) > 2000) [clock.from, clock.since] = [clock.shown ?? clock.aim, performance.now()];
      [clock.aim, clock.runs, clock.at] = [aim, runs, now];
      const part = still.matches ? 1 : Math.min(1, (performance.now() - clock.since) / JUMP_MS);
      const eased = 1 - (1 - part) ** 3;
      const jumping = Boolean(clock.since) && part < 1;
      clock.shown = clock.since ? clock.from + (aim - clock.from) * eased : aim;
      clocks.set(each, clock);
      const text = new Date(clock.shown).toISOString();
      const shown = `${text.slice(0, 10)} ${text.slice(11, 19)}Z`;
      each.classList.toggle("jumping", jumping);
      if (each.textContent !== shown) [each.dateTime, each.textContent] = [text, shown];
      jumps ||= jumping;
    }
    cancelAnimationFrame(jump);
    jump = jumps ? requestAnimationFrame(tick) : 0;
  };

  // Times change with every second of the emulator's clock, and when the page does; nothing happens in between.
  let second = 0;
  const pass = () => {
    clearTimeout(second);
    if (document.hidden) return;
    age();
    tick();
    const clock = document.getElementById("ahead");
    if (clock?.dataset.clock === "runs") second = setTimeout(pass, 1000 - (by(clock) % 1000));
  };
  age();
  tick();
  document.addEventListener("DOMContentLoaded", pass);
  document.addEventListener("visibilitychange", pass);
  document.addEventListener("console:shown", pass);

  document.addEventListener("click", (event) => {
    const fold = event.target.closest(".fold");
    if (fold) fold.ariaExpanded = fold.ariaExpanded !== "true";
    const swap = event.target.closest("a[data-swap]");
    const copy = event.target.closest("[data-copy]");
    if (swap && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      document.dispatchEvent(new Event("console:stop"));
      show(swap.href);
    }
    if (copy) navigator.clipboard.writeText(copy.dataset.copy || copy.parentElement.querySelector("pre").textContent);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event) || event.key !== "/") return;
    event.preventDefault();
    document.getElementById("search").focus();
  });
  document.addEventListener("change", (event) => {
    const template = event.target.closest("select[data-fill]");
    if (template) document.getElementById(template.dataset.fill).value = template.value;
  });
  // A definition is checked a moment after the last key.
  let checking = 0;
  const check = async (editor) => {
    const body = new URLSearchParams(new FormData(editor.form));
    const headers = { "X-CSRF": body.get("csrf") };
    const answer = await fetch(editor.dataset.check, { method: "POST", body, headers });
    if (answer.ok) document.getElementById("checked").innerHTML = await answer.text();
  };
  document.addEventListener("input", (event) => {
    if (event.target.dataset.check) {
      clearTimeout(checking);
      checking = setTimeout(check, 300, event.target);
    }
    const { says } = event.target.dataset;
    if (says) document.getElementById(says).value = event.target.value;
  });
  window.addEventListener("popstate", look);
  window.localyun = { content, show, typing };
})();
