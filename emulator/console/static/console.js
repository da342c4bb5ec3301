// What pages need beyond htmx: keys, copying, steps of the graph, the slider through the history. No inline scripts.
"use strict";
(() => {
  const content = document.getElementById("content");
  const typing = (event) => /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  let latest = null;
  const folded = new Map();
  let replay = null;

  // The live part is asked for under the address that is shown, which the slider and chosen steps change.
  document.body.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.elt === content) event.detail.path = location.pathname + location.search;
  });
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target !== content) return;
    const text = event.detail.xhr.responseText;
    const chosen = document.getSelection();
    const reading = chosen && !chosen.isCollapsed && content.contains(chosen.anchorNode) && !event.detail.elt.asked;
    if (text === latest || reading) event.detail.shouldSwap = false;
    else latest = text;
    content.asked = false;
    for (const each of content.querySelectorAll("details[data-keep]")) folded.set(each.dataset.keep, each.open);
  });
  // What changes is told by the server while the page can be seen: a browser has six connections to a server only, for
  // all pages together.
  const streams = [];
  const follow = (address, name, then) => {
    const source = new EventSource(address);
    source.addEventListener(name, (event) => then(event.data));
    streams.push(source);
  };
  const listen = (since) => {
    const { changes } = document.body.dataset;
    if (content.hasAttribute("hx-get")) {
      follow(`${changes}?since=${since}`, "change", () => htmx.trigger(content, "look"));
    }
    for (const log of document.querySelectorAll("pre[data-follow]")) {
      log.textContent = "";
      follow(log.dataset.follow, "log", (text) => {
        log.append(text);
        while (log.childNodes.length > 2000) log.firstChild.remove();
        if (!log.matches(":hover")) log.scrollTop = log.scrollHeight;
      });
    }
  };
  document.addEventListener("visibilitychange", () => {
    while (streams.length) streams.pop().close();
    if (!document.hidden) listen("");
  });
  if (!document.hidden) listen(document.body.dataset.since);

  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target !== content) return;
    for (const each of content.querySelectorAll("details[data-keep]")) {
      if (folded.has(each.dataset.keep)) each.open = folded.get(each.dataset.keep);
    }
    standAt();
  });

  const show = (address, keep) => {
    history[keep ? "replaceState" : "pushState"](null, "", address);
    content.asked = true;
    htmx.trigger(content, "look");
  };
  const slider = () => document.getElementById("scrub");
  const standAt = () => {
    const form = document.getElementById("scrubber");
    if (!form || !slider()) return;
    slider().max = form.dataset.last;
    if (document.activeElement !== slider()) slider().value = form.dataset.at;
  };
  const scrubTo = (at) => {
    const address = new URL(location.href);
    const last = Number(document.getElementById("scrubber").dataset.last);
    if (at >= last) address.searchParams.delete("at");
    else address.searchParams.set("at", Math.max(1, at));
    slider().value = at;
    show(address, true);
    return at < last;
  };
  const stopReplay = () => {
    clearInterval(replay);
    replay = null;
  };
  const startReplay = () => {
    if (replay) return stopReplay();
    const last = Number(document.getElementById("scrubber").dataset.last);
    let at = Number(slider().value) >= last ? 0 : Number(slider().value);
    replay = setInterval(() => {
      at += 1;
      if (!scrubTo(at)) stopReplay();
    }, 1000 / Number(document.getElementById("speed").value));
  };

  document.addEventListener("input", (event) => {
    if (event.target.id === "scrub") scrubTo(Number(event.target.value));
  });
  document.addEventListener("click", (event) => {
    const swap = event.target.closest("a[data-swap]");
    const step = event.target.closest(".graph .step");
    const copy = event.target.closest("[data-copy]");
    if (event.target.closest("[data-replay]")) startReplay();
    if (swap && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      stopReplay();
      show(swap.href);
    }
    if (step) {
      const visits = [...content.querySelectorAll("a[data-visit-of]")];
      const visit = visits.filter((each) => each.dataset.visitOf === step.dataset.step).pop();
      if (visit) show(visit.href);
    }
    if (copy) navigator.clipboard.writeText(copy.parentElement.querySelector("pre").textContent);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event)) return;
    if (event.key === "/") {
      event.preventDefault();
      document.getElementById("search").focus();
    } else if (event.key === "p" && slider()) startReplay();
    else {
      const link = content.querySelector(`a[data-key="${CSS.escape(event.key)}"]`);
      if (link) {
        event.preventDefault();
        stopReplay();
        show(link.href, true);
      }
    }
  });
  document.addEventListener("change", (event) => {
    const template = event.target.closest("select[data-fill]");
    if (template) document.getElementById(template.dataset.fill).value = template.value;
  });
  window.addEventListener("popstate", () => htmx.trigger(content, "look"));
})();
