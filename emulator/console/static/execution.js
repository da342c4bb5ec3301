// An execution's page: the graph with fit, zoom and a map of it, choosing a step, presenting, and the slider, which asks
// nobody: the browser has the history as a list of changes by step (`frames`), finds the state at an event and colours
// the graph. Two executions side by side have graphs that are looked at only.
"use strict";
(() => {
  const { content, show, typing } = window.localyun;
  const slider = () => document.getElementById("scrub");
  const scrubber = () => document.getElementById("scrubber");
  const last = () => Number(scrubber().dataset.last);
  let frames = null;
  let framed = null; // which history they are of
  let wanted = null;
  let replay = 0;
  let settling = 0;
  let entered = 0; // the visit that is chosen once the slider has come to rest
  let shown = null; // the event that is shown, null when it is the page's own

  // The graph, moved and scaled as a whole.
  const view = { x: 0, y: 0, scale: 1 };
  const svg = () => content.querySelector(".graph svg");
  const place = () => {
    if (svg()) svg().style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.scale})`;
    drawMap();
  };
  const zoom = (factor, x, y) => {
    const scale = Math.min(8, Math.max(1, view.scale * factor));
    view.x = scale === 1 ? 0 : x - ((x - view.x) * scale) / view.scale;
    view.y = scale === 1 ? 0 : y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    place();
  };
  const middle = () => {
    const box = svg().parentElement.getBoundingClientRect();
    return [box.width / 2, box.height / 2];
  };
  document.addEventListener(
    "wheel",
    (event) => {
      const frame = event.target.closest(".graph .drawing");
      if (!frame || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      const box = frame.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
    },
    { passive: false },
  );

  // A map of a large graph: a mark for each step in the colour of its state, and a frame around what is in view.
  const LARGE = 20;
  const SVG = "http://www.w3.org/2000/svg";
  const map = () => content.querySelector(".minimap");
  const drawMap = () => {
    const steps = [...content.querySelectorAll(".screen .graph .step")];
    if (!map() || steps.length <= LARGE) return;
    const frame = svg().parentElement.getBoundingClientRect();
    const origin = svg().getBoundingClientRect();
    const marks = steps.map((step) => {
      const box = step.getBoundingClientRect();
      const mark = document.createElementNS(SVG, "rect");
      mark.dataset.state = step.dataset.state;
      const [x, y, width, height] = [box.x - origin.x, box.y - origin.y, box.width, box.height];
      for (const [name, value] of Object.entries({ x, y, width, height })) mark.setAttribute(name, value / view.scale);
      return mark;
    });
    const seen = document.createElementNS(SVG, "rect");
    const [x, y, width, height] = [-view.x, -view.y, frame.width, frame.height];
    for (const [name, value] of Object.entries({ x, y, width, height })) seen.setAttribute(name, value / view.scale);
    seen.classList.add("seen");
    map().setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    map().replaceChildren(...marks, seen);
    map().removeAttribute("hidden");
  };
  const colourMap = () => {
    if (!map() || map().hasAttribute("hidden")) return;
    const steps = content.querySelectorAll(".screen .graph .step");
    [...map().children].forEach((mark, at) => steps[at] && (mark.dataset.state = steps[at].dataset.state));
  };
  document.addEventListener("click", (event) => {
    const small = event.target.closest(".minimap");
    if (!small) return;
    const box = small.getBoundingClientRect();
    const frame = svg().parentElement.getBoundingClientRect();
    if (view.scale === 1) view.scale = 2;
    view.x = frame.width / 2 - ((event.clientX - box.left) / box.width) * frame.width * view.scale;
    view.y = frame.height / 2 - ((event.clientY - box.top) / box.height) * frame.height * view.scale;
    place();
  });
  let drag = null;
  let dragged = false;
  document.addEventListener("pointerdown", (event) => {
    dragged = false;
    if (event.target.closest(".graph .drawing") && view.scale > 1) drag = [event.clientX - view.x, event.clientY - view.y];
  });
  document.addEventListener("pointermove", (event) => {
    if (!drag) return;
    dragged ||= Math.hypot(event.clientX - drag[0] - view.x, event.clientY - drag[1] - view.y) > 4;
    [view.x, view.y] = [event.clientX - drag[0], event.clientY - drag[1]];
    place();
  });
  document.addEventListener("pointerup", () => (drag = null));

  // Steps can be chosen by pointer and by key; one that was not entered shows its definition.
  const mark = () => {
    const chosen = document.getElementById("panel")?.dataset.step;
    for (const step of content.querySelectorAll(".graph .step")) {
      step.classList.toggle("chosen", step.dataset.step === (step.closest("[data-chosen]")?.dataset.chosen ?? chosen));
      if (!scrubber()) continue;
      step.setAttribute("tabindex", "0");
      step.setAttribute("role", "button");
      step.ownerSVGElement.setAttribute("role", "group"); // a picture would hide them from screen readers
    }
    place();
  };
  const choose = (step) => {
    const address = new URL(location.href);
    const visits = [...content.querySelectorAll("a[data-visit-of]")];
    const visit = visits.filter((each) => each.dataset.visitOf === step.dataset.step).pop();
    address.searchParams.delete("step");
    address.searchParams.delete("about");
    if (visit) address.searchParams.set("step", new URL(visit.href).searchParams.get("step"));
    else address.searchParams.set("about", step.dataset.step);
    show(address.href);
  };

  // The slider.
  const at = () => shown ?? Number(scrubber().dataset.at);
  const upto = (list, event) => {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const half = (low + high) >> 1;
      if (list[half][0] <= event) low = half + 1;
      else high = half;
    }
    return low ? list[low - 1] : null;
  };
  const noteOf = (step) => {
    const badge = step.querySelector(".badge");
    return badge ? badge.previousElementSibling : step.querySelector("text:last-of-type");
  };
  const paint = (event) => {
    shown = event;
    slider().value = event;
    if (!frames) return;
    document.getElementById("at-event").textContent = event;
    for (const step of content.querySelectorAll(".graph .step")) {
      const [, state, note] = upto(frames.steps[step.dataset.step] || [], event) || [0, "not entered", frames.unentered];
      if (step.dataset.state !== state) step.dataset.state = state;
      const line = noteOf(step);
      if (line && line.textContent !== note) line.textContent = note;
    }
    for (const edge of content.querySelectorAll(".graph .edge[data-from]")) {
      const since = frames.ways[`${edge.dataset.from}\n${edge.dataset.to}`];
      const taken = String(since !== undefined && since <= event);
      if (edge.dataset.taken !== taken) edge.dataset.taken = taken;
    }
    for (const row of content.querySelectorAll("tr[data-visit]")) {
      row.classList.toggle("later", Number(row.dataset.visit) > event);
    }
    colourMap();
    const time = frames.times[event - 1];
    const share = Math.min(1, (time - frames.times[0]) / Math.max(1, Number(scrubber().dataset.whole)));
    content.querySelector(".steps").style.setProperty("--now", `${share * 100}%`);
    document.getElementById("at-time").textContent = new Date(time).toISOString().replace("T", " ");
  };
  // They hold while the history has only grown: not when another execution has taken the name.
  const loaded = () => frames && framed === scrubber().dataset.history && frames.times.length >= last();
  const load = async () => {
    if (loaded()) return;
    const history = scrubber().dataset.history;
    const answer = await fetch(`${location.pathname}/frames`);
    if (answer.ok) [frames, framed] = [await answer.json(), history];
  };
  const draw = () => {
    if (wanted !== null) paint(wanted);
    wanted = null;
  };
  const to = (event) => {
    if (wanted === null) requestAnimationFrame(draw);
    wanted = Math.max(1, Math.min(event, last()));
    if (!loaded()) load().then(() => wanted === null && !replay && paint(at()));
    clearTimeout(settling);
    if (!replay) settling = setTimeout(settle, 200);
  };
  const settle = () => {
    settling = 0;
    const address = new URL(location.href);
    if (at() >= last()) address.searchParams.delete("at");
    else address.searchParams.set("at", at());
    if (entered) address.searchParams.set("step", entered);
    entered = 0;
    show(address.href, true);
  };
  // From step to step: the moment at which the next one was entered, and its panel.
  const step = async (by) => {
    stop();
    await load();
    const all = frames.entered;
    const ended = at() >= last() && !content.querySelector(".graph .step[data-state=running]");
    const from = ended && by > 0 ? 0 : at(); // at the end of what has ended, the first step follows
    const next = by > 0 ? all.find((each) => each > from) : all.filter((each) => each < at()).pop();
    if (next === undefined) return to(by > 0 ? last() : 1);
    entered = next;
    to(next);
  };
  const stop = () => {
    if (!replay) return;
    cancelAnimationFrame(replay);
    replay = 0;
    settle();
  };
  const play = async () => {
    if (replay) return stop();
    await load();
    const first = at() >= last() ? 1 : at();
    let began = null;
    const next = (now) => {
      began ??= now;
      const event = first + Math.floor(((now - began) / 1000) * Number(document.getElementById("speed").value));
      if (event !== at()) paint(Math.min(event, last()));
      if (event >= last()) return stop();
      replay = requestAnimationFrame(next);
    };
    replay = requestAnimationFrame(next);
  };
  const keys = {
    Home: () => to(1),
    End: () => to(last()),
    ",": () => to(at() - 1),
    ".": () => to(at() + 1),
    p: play,
    n: () => step(1),
    b: () => step(-1),
    PageDown: () => step(1), // what presenters' remote controls send
    PageUp: () => step(-1),
  };
  const presenting = () => new URL(location.href).searchParams.has("present");
  const present = () => document.body.classList.toggle("present", presenting());
  const turn = () => {
    const address = new URL(location.href);
    if (presenting()) address.searchParams.delete("present");
    else address.searchParams.set("present", "");
    history.replaceState(null, "", address);
    present();
    place();
  };

  document.addEventListener("console:stop", stop);
  document.addEventListener("console:shown", () => {
    if (!scrubber()) return;
    slider().max = scrubber().dataset.last;
    if (settling || replay) paint(at()); // this page is older than where the slider stands
    else {
      shown = null;
      if (document.activeElement !== slider()) slider().value = scrubber().dataset.at;
      content.querySelector(".steps").style.removeProperty("--now");
    }
    mark();
    present();
  });
  document.addEventListener("input", (event) => {
    if (event.target.id !== "scrub") return;
    stop();
    to(Number(event.target.value));
  });
  document.addEventListener("click", (event) => {
    const step = event.target.closest(".graph .step");
    const move = event.target.closest("[data-move]");
    const scale = event.target.closest("[data-zoom]");
    if (scale) zoom(Number(scale.dataset.zoom), ...middle());
    if (move) keys[move.dataset.move]();
    if (event.target.closest("[data-present]")) turn();
    if (step && !dragged && scrubber()) choose(step);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = event.target.closest?.(".graph .step");
    if (step && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      return choose(step);
    }
    if (event.key === "Escape" && presenting()) return turn();
    if ((typing(event) && event.target.id !== "scrub") || !keys[event.key] || !scrubber()) return;
    if (event.key.startsWith("Page") && !presenting()) return;
    event.preventDefault();
    if (event.key !== "p") stop();
    keys[event.key]();
  });
  mark();
  present();
  window.addEventListener("resize", place);
  const first = document.getElementById("first");
  if (first) {
    const box = first.closest(".differences");
    box.scrollTop = first.offsetTop - (box.clientHeight - first.offsetHeight) / 2;
  }
})();
