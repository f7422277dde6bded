"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const percent = (share) =>
    share > 0 && share < 1e-5 ? "< 0.001 %" : `${Number((100 * share).toPrecision(3))} %`;

  function element(name, attributes, text) {
    const svg = ["svg", "g", "rect", "path", "text", "title"].includes(name);
    const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // The tree is drawn in a window that scrolls; zooming changes the size of the drawing.
  const view = byId("tree");
  const drawing = byId("drawing");
  const boxes = [...drawing.querySelectorAll(".node")];
  const size = drawing.viewBox.baseVal;
  const readable = 0.6;
  let scale = 1;

  function zoom(wanted, x, y) {
    const place = [(view.scrollLeft + x) / scale, (view.scrollTop + y) / scale];
    scale = Math.min(4, Math.max(0.01, wanted));
    drawing.setAttribute("width", size.width * scale);
    drawing.setAttribute("height", size.height * scale);
    view.scrollLeft = place[0] * scale - x;
    view.scrollTop = place[1] * scale - y;
  }
  const zoomBy = (factor) => zoom(scale * factor, view.clientWidth / 2, view.clientHeight / 2);
  const fit = () => zoom(Math.min(1, view.clientWidth / size.width), 0, 0);

  function show(i, wanted) {
    zoom(wanted, 0, 0);
    const place = boxes[i].transform.baseVal[0].matrix;
    view.scrollLeft = place.e * scale - view.clientWidth / 2;
    view.scrollTop = i === 0 ? 0 : place.f * scale - view.clientHeight / 3;
  }
  byId("zoom-in").addEventListener("click", () => zoomBy(1.25));
  byId("zoom-out").addEventListener("click", () => zoomBy(0.8));
  byId("zoom-fit").addEventListener("click", fit);
  byId("zoom-one").addEventListener("click", () => show(0, 1));
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const frame = view.getBoundingClientRect();
    zoom(scale * Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });

  // A mouse drags the drawing; for a finger, the browser scrolls it.
  let held = null;
  let dragged = false;
  view.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) {
      held = { x: event.clientX, y: event.clientY, left: view.scrollLeft, top: view.scrollTop };
    }
    dragged = false;
  });
  window.addEventListener("pointermove", (event) => {
    if (!held) return;
    dragged ||= Math.hypot(event.clientX - held.x, event.clientY - held.y) > 4;
    if (!dragged) return;
    view.classList.add("dragged");
    view.scrollLeft = held.left + held.x - event.clientX;
    view.scrollTop = held.top + held.y - event.clientY;
  });
  window.addEventListener("pointerup", () => {
    held = null;
    view.classList.remove("dragged");
  });

  // Folding. In every list of nodes, parents come before their children.
  const { nodes } = data;
  const enough = 12;
  const isQuestion = (i) => nodes[i].left >= 0;
  const folded = nodes.map(() => false);
  const leading = nodes.map(() => []);
  for (const part of drawing.querySelectorAll("[data-to]")) leading[part.dataset.to].push(part);
  const [boxHeight, row, gap, padding] = ["box", "row", "gap", "padding"].map((key) => Number(drawing.dataset[key]));
  const widths = boxes.map((box) => box.querySelector("rect").width.baseVal.value);

  function arrange() {
    const away = nodes.map(() => false);
    const level = nodes.map(() => 0);
    nodes.forEach(({ left, right }, i) => {
      if (left < 0) return;
      away[left] = away[right] = away[i] || folded[i];
      level[left] = level[right] = level[i] + 1;
    });
    const opened = (i) => isQuestion(i) && !folded[i];
    const span = [...widths];
    for (let i = nodes.length - 1; i >= 0; i--) {
      if (!away[i] && opened(i)) span[i] = Math.max(widths[i], span[nodes[i].left] + gap + span[nodes[i].right]);
    }
    const centre = nodes.map(() => padding + span[0] / 2);
    nodes.forEach(({ left, right }, i) => {
      if (away[i] || !opened(i)) return;
      const both = span[left] + gap + span[right];
      centre[left] = centre[i] - both / 2 + span[left] / 2;
      centre[right] = centre[i] + both / 2 - span[right] / 2;
    });
    nodes.forEach(({ left, right }, i) => {
      place(i, away[i], centre[i], padding + level[i] * row);
      if (!away[i] && opened(i)) for (const child of [left, right]) connect(i, child, centre, level);
    });
    const lowest = level.reduce((most, at, i) => (away[i] ? most : Math.max(most, at)), 0);
    drawing.setAttribute("viewBox", `0 0 ${span[0] + 2 * padding} ${lowest * row + boxHeight + 2 * padding}`);
  }

  function place(i, away, x, y) {
    if (away && boxes[i].classList.contains("away")) return;
    for (const part of [boxes[i], ...leading[i]]) {
      part.classList.toggle("away", away);
      if (!away && part.tagName !== "path") part.setAttribute("transform", `translate(${x} ${y})`);
    }
    boxes[i].classList.toggle("folded", folded[i]);
    const note = boxes[i].querySelector(".note");
    note.dataset.visits ??= note.textContent;
    note.textContent = folded[i] ? `${nodes[i].leaves} leaves below` : note.dataset.visits;
  }

  function connect(parent, child, centre, level) {
    const [start, end] = [padding + level[parent] * row + boxHeight, padding + level[child] * row];
    const bend = (start + end) / 2;
    const line = leading[child].find((part) => part.tagName === "path");
    const [x0, x1] = [centre[parent], centre[child]];
    line.setAttribute("d", `M${x0} ${start}C${x0} ${bend} ${x1} ${bend} ${x1} ${end}`);
  }

  // A large tree starts with its most visited part.
  function foldLarge() {
    nodes.forEach((_, i) => { folded[i] = isQuestion(i); });
    for (let ends = 1; ends < enough; ends++) {
      const shown = [0];
      let next = -1;
      for (const i of shown) {
        if (!isQuestion(i)) continue;
        if (!folded[i]) shown.push(nodes[i].left, nodes[i].right);
        else if (next < 0 || nodes[i].share > nodes[next].share) next = i;
      }
      if (next < 0) break;
      folded[next] = false;
    }
    arrange();
    drawing.classList.remove("large");
  }

  function turn(i, fold) {
    folded[i] = fold;
    arrange();
    show(i, scale);
  }
  byId("unfold").addEventListener("click", () => {
    folded.fill(false);
    arrange();
    show(0, scale);
  });

  const panel = byId("node");
  function open(box) {
    const i = Number(box.dataset.node);
    if (folded[i]) turn(i, false);
    else if (isQuestion(i) && box.classList.contains("open")) turn(i, true);
    drawing.querySelector(".open")?.classList.remove("open");
    box.classList.add("open");
    const list = element("dl", {});
    for (const [name, text] of nodes[i].facts) list.append(element("dt", {}, name), element("dd", {}, text));
    panel.replaceChildren(element("h3", {}, nodes[i].title), list);
    panel.hidden = false;
  }
  drawing.addEventListener("click", (event) => {
    const box = event.target.closest(".node");
    if (box && !dragged) open(box);
    dragged = false;
  });
  drawing.addEventListener("keydown", (event) => {
    const box = event.target.closest(".node");
    if (box && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      open(box);
    }
  });

  // Two maps over the same cells: what is done there, and the share of visits. The share of a cell is the sum over its
  // entries, and its action the one with the most visits, or with the most entries if it is never visited.
  const { map } = data;
  const [across, down] = [byId("map-x"), byId("map-y")];
  const readout = byId("map-cell");
  const widest = (labels) => Math.max(...labels.map((label) => label.length));

  function cells() {
    const x = map.features[across.value];
    const y = down.value === "" ? null : map.features[down.value];
    const found = new Map();
    map.share.forEach((share, i) => {
      const key = `${x.steps[i]} ${y ? y.steps[i] : 0}`;
      if (!found.has(key)) {
        found.set(key, { key, column: x.steps[i], row: y ? y.steps[i] : 0, share: 0, counts: new Map() });
      }
      const cell = found.get(key);
      cell.share += share;
      const [visits, entries] = cell.counts.get(map.action[i]) ?? [0, 0];
      cell.counts.set(map.action[i], [visits + share, entries + 1]);
    });
    for (const cell of found.values()) {
      const counted = [...cell.counts].sort(([, one], [, other]) => other[0] - one[0] || other[1] - one[1]);
      cell.actions = counted.map(([action]) => action);
    }
    return { x, y, found: [...found.values()] };
  }

  function described(x, y, cell) {
    const where = `${x.name} = ${x.labels[cell.column]}` + (y ? `, ${y.name} = ${y.labels[cell.row]}` : "");
    const named = cell.actions.slice(0, 3).map((action) => map.actions[action]).join(", ");
    const others = cell.actions.length - 3;
    const more = others > 0 ? ` and ${others} ${others === 1 ? "other" : "others"}` : "";
    return `${where}: ${cell.share > 0 ? `${percent(cell.share)} of visits` : "never visited"}; ${named}${more}`;
  }

  function tell(key, text) {
    for (const cell of document.querySelectorAll(".map .picked")) cell.classList.remove("picked");
    for (const cell of document.querySelectorAll(`.map [data-cell="${key}"]`)) cell.classList.add("picked");
    readout.textContent = text;
  }

  // Labels that would overlap are left out.
  const every = (length, room) => Math.max(1, Math.ceil(length / room));

  function labelled(drawn, x, rows, { left, side, height, bottom, end }) {
    const wide = every(7 * widest(x.labels) + 8, side);
    x.labels.forEach((label, i) => {
      if (wide === 1) {
        drawn.append(element("text", { x: left + (i + 0.5) * side, y: bottom + 16, "text-anchor": "middle" }, label));
      } else if (i % wide === 0 && left + i * side + 7 * label.length <= end) {
        drawn.append(element("text", { x: left + i * side, y: bottom + 16 }, label));
      }
    });
    drawn.append(element("text", { class: "axis", x: (left + end) / 2, y: bottom + 34, "text-anchor": "middle" }, x.name));
    const high = every(13, height);
    rows.forEach((label, i) => {
      if (i % high === 0) {
        drawn.append(element("text", { x: left - 5, y: (i + 0.5) * height + 4, "text-anchor": "end" }, label));
      }
    });
  }

  function drawMap(place, { x, y, found }, paint) {
    const rows = y ? y.labels : [""];
    // The name of the second feature stands upright beside its values.
    const left = (y ? 26 : 4) + 7 * widest(rows);
    const side = Math.max(5, Math.min(44, Math.floor((place.clientWidth - left - 2) / x.labels.length)));
    const height = y ? Math.max(side, Math.min(22, Math.floor(360 / rows.length))) : 44;
    const [bottom, end] = [rows.length * height, left + x.labels.length * side + 2];
    const drawn = element("svg", { viewBox: `0 0 ${end} ${bottom + 40}`, width: end, height: bottom + 40, role: "group" });
    for (const cell of found) {
      const text = described(x, y, cell);
      const at = { x: left + cell.column * side, y: cell.row * height, width: side, height };
      const box = element("g", { "data-cell": cell.key });
      box.append(element("title", {}, text), ...paint(cell, at));
      box.addEventListener("pointerenter", () => tell(cell.key, text));
      box.addEventListener("click", () => tell(cell.key, text));
      drawn.append(box);
    }
    labelled(drawn, x, rows, { left, side, height, bottom, end });
    if (y) {
      const turned = `translate(14 ${bottom / 2}) rotate(-90)`;
      drawn.append(element("text", { class: "axis", transform: turned, "text-anchor": "middle" }, y.name));
    }
    place.replaceChildren(drawn);
  }

  const inner = ({ x, y, width, height }) => ({ x: x + 0.5, y: y + 0.5, width: width - 1, height: height - 1, rx: 1 });

  function paintActions(cell, at) {
    const parts = [element("rect", { ...inner(at), fill: map.colours[cell.actions[0]] })];
    if (cell.actions.length > 1) {
      // A corner in the colour of the second action says that the action differs between the states of this cell.
      const [right, low] = [at.x + at.width - 0.5, at.y + at.height - 0.5];
      const [across, up] = [right - 0.55 * at.width, low - 0.55 * at.height];
      const corner = `M${right} ${up}V${low}H${across}Z`;
      parts.push(element("path", { d: corner, fill: map.colours[cell.actions[1]] }));
    }
    if (!(cell.share > 0)) for (const part of parts) part.setAttribute("opacity", 0.45);
    return parts;
  }

  function draw() {
    const shown = cells();
    byId("pair").classList.toggle("flat", !shown.y);
    const most = Math.max(...shown.found.map((cell) => cell.share));
    drawMap(byId("actions"), shown, paintActions);
    drawMap(byId("map"), shown, (cell, at) => {
      // The square root keeps rare states visible beside the most visited one.
      const strength = most > 0 ? Math.sqrt(cell.share / most) : 0;
      return [element("rect", { ...inner(at), "fill-opacity": strength.toFixed(3) })];
    });
    const mixed = shown.found.some((cell) => cell.actions.length > 1);
    const pale = shown.found.some((cell) => !(cell.share > 0));
    readout.textContent = (map.left_out > 0 ? `${map.left_out} rarely visited observations are left out. ` : "")
      + `The most visited cell has ${percent(most)} of visits. `
      + (mixed ? "A coloured corner is a second action in the same cell. " : "")
      + (pale ? "A pale cell is never visited. " : "");
  }

  map.features.forEach((feature, i) => {
    across.append(element("option", { value: i }, feature.name));
    down.append(element("option", { value: i }, feature.name));
  });
  down.append(element("option", { value: "" }, "nothing"));
  across.value = map.first[0];
  down.value = map.first.length > 1 ? map.first[1] : "";
  across.addEventListener("change", draw);
  down.addEventListener("change", draw);
  let drawnFor = 0;
  const showMap = () => {
    if (byId("map").clientWidth !== drawnFor) {
      drawnFor = byId("map").clientWidth;
      draw();
    }
  };
  new ResizeObserver(showMap).observe(byId("map"));

  for (const tools of document.querySelectorAll(".tools")) tools.hidden = false;
  if (drawing.classList.contains("large")) foldLarge();
  if (view.clientWidth / size.width >= readable) fit(); else show(0, readable);
})();
