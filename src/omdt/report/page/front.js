"use strict";
const sections = [...document.querySelectorAll(".tree")];
const points = [...document.querySelectorAll(".point")];
const buttons = [...document.querySelectorAll("td button")];

function choose(number) {
  sections.forEach((section, i) => { section.hidden = i !== number; });
  points.forEach((point, i) => {
    point.classList.toggle("chosen", i === number);
    point.setAttribute("aria-pressed", i === number);
    point.setAttribute("tabindex", i === number ? "0" : "-1");
  });
  buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === number));
}

points.forEach((point, i) => {
  point.setAttribute("role", "button");
  point.addEventListener("click", () => choose(i));
  point.addEventListener("keydown", event => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Enter: 0, " ": 0 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const next = Math.min(Math.max(i + steps[event.key], 0), points.length - 1);
    choose(next);
    points[next].focus();
  });
});
buttons.forEach((button, i) => button.addEventListener("click", () => choose(i)));
choose(sections.findIndex(section => !section.hidden));
