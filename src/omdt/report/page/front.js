"use strict";
const sections = [...document.querySelectorAll(".tree")];
const points = [...document.querySelectorAll(".point")];
const buttons = [...document.querySelectorAll("td button")];
const numberOf = element => Number(element.dataset.point);

function choose(number) {
  sections.forEach(section => { section.hidden = numberOf(section) !== number; });
  points.forEach(point => {
    const chosen = numberOf(point) === number;
    point.classList.toggle("chosen", chosen);
    point.setAttribute("aria-pressed", chosen);
    point.setAttribute("tabindex", chosen ? "0" : "-1");
  });
  buttons.forEach(button => button.setAttribute("aria-pressed", numberOf(button) === number));
}

points.forEach(point => {
  point.setAttribute("role", "button");
  point.addEventListener("click", () => choose(numberOf(point)));
  point.addEventListener("keydown", event => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, Enter: 0, " ": 0 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const next = Math.min(Math.max(numberOf(point) + steps[event.key], 0), sections.length - 1);
    choose(next);
    point.parentNode.querySelector(`[data-point="${next}"]`).focus();
  });
});
buttons.forEach(button => button.addEventListener("click", () => choose(numberOf(button))));
choose(numberOf(sections.find(section => !section.hidden)));
