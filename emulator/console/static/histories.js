// A file that is chosen goes into the text beside it: forms are sent as text.
"use strict";
document.addEventListener("change", async (event) => {
  const into = event.target.dataset?.into;
  const file = event.target.files?.[0];
  if (into && file) document.getElementById(into).value = await file.text();
});
