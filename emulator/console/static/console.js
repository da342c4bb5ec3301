// What pages need beyond htmx: keys, copy buttons, the timeline. No inline scripts anywhere.
"use strict";
document.addEventListener("keydown", (event) => {
  const field = document.getElementById("search");
  if (event.key === "/" && field && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
    event.preventDefault();
    field.focus();
  }
});
