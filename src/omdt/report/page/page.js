"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const percent = (share) =>
    share > 0 && share < 1e-5 ? "< 0.001 %" : `${Number((100 * share).toPrecision(3))} %`;

  function element(name, attributes, text) {
    const svg = ["svg", "g", "rect", "text", "title"].includes(name);
    const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // The tree: the window scrolls, zooming changes the size of the drawing in it.
  const view = byId("tree");
  const drawing = byId("drawing");
  const width = drawing.viewBox.baseVal.width;
  const height = drawing.viewBox.baseVal.height;
  const root = drawing.querySelector(".node rect");
  const rootCentre = root.x.baseVal.value + root.width.baseVal.value / 2;
  const readable = 0.6;
  let scale = 1;

  function zoom(wanted, x, y) {
    const place = [(view.scrollLeft + x) / scale, (view.scrollTop + y) / scale];
    scale = Math.min(4, Math.max(0.01, wanted));
    drawing.setAttribute("width", width * scale);
    drawing.setAttribute("height", height * scale);
    view.scrollLeft = place[0] * scale - x;
    view.scrollTop = place[1] * scale - y;
  }
  const zoomBy = (factor) => zoom(scale * factor, view.clientWidth / 2, view.clientHeight / 2);
  const fit = () => zoom(Math.min(1, view.clientWidth / width), 0, 0);

  function showRoot(wanted) {
    zoom(wanted, 0, 0);
    view.scrollLeft = rootCentre * scale - view.clientWidth / 2;
    view.scrollTop = 0;
  }
  byId("zoom-in").addEventListener("click", () => zoomBy(1.25));
  byId("zoom-out").addEventListener("click", () => zoomBy(0.8));
  byId("zoom-fit").addEventListener("click", fit);
  byId("zoom-one").addEventListener("click", () => showRoot(1));
  view.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const frame = view.getBoundingClientRect();
    zoom(scale * Math.exp(-event.deltaY / 300), event.clientX - frame.left, event.clientY - frame.top);
  }, { passive: false });

  // A mouse drags the drawing; a finger scrolls it by itself.
  let held = null;
  view.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button === 0) {
      held = { x: event.clientX + view.scrollLeft, y: event.clientY + view.scrollTop };
    }
  });
  window.addEventListener("pointermove", (event) => {
    if (!held) return;
    view.classList.add("dragged");
    view.scrollLeft = held.x - event.clientX;
    view.scrollTop = held.y - event.clientY;
  });
  window.addEventListener("pointerup", () => {
    held = null;
    view.classList.remove("dragged");
  });

  const panel = byId("node");
  function open(node) {
    drawing.querySelector(".open")?.classList.remove("open");
    node.classList.add("open");
    const { title, facts } = data.nodes[Number(node.dataset.node)];
    const list = element("dl", {});
    for (const [name, text] of facts) list.append(element("dt", {}, name), element("dd", {}, text));
    panel.replaceChildren(element("h3", {}, title), list);
    panel.hidden = false;
  }
  drawing.addEventListener("click", (event) => {
    const node = event.target.closest(".node");
    if (node) open(node);
  });
  drawing.addEventListener("keydown", (event) => {
    const node = event.target.closest(".node");
    if (node && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      open(node);
    }
  });

  // The map: the shares of all entries in a cell are added up.
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
      if (!found.has(key)) found.set(key, { column: x.steps[i], row: y ? y.steps[i] : 0, share: 0, actions: new Map() });
      const cell = found.get(key);
      cell.share += share;
      cell.actions.set(map.action[i], (cell.actions.get(map.action[i]) ?? 0) + share);
    });
    return { x, y, found: [...found.values()] };
  }

  function described(x, y, cell) {
    const where = `${x.name} = ${x.labels[cell.column]}` + (y ? `, ${y.name} = ${y.labels[cell.row]}` : "");
    const actions = [...cell.actions].sort((one, other) => other[1] - one[1]);
    const named = actions.slice(0, 3).map(([action]) => map.actions[action]).join(", ");
    const more = actions.length > 3 ? ` and ${actions.length - 3} others` : "";
    return `${where}: ${cell.share > 0 ? `${percent(cell.share)} of visits` : "never visited"}; ${named}${more}`;
  }

  // Labels that would run into each other are left out.
  const every = (length, room) => Math.max(1, Math.ceil(length / room));

  function draw() {
    const { x, y, found } = cells();
    const rows = y ? y.labels : [""];
    const left = 10 + 7 * widest(rows);
    const size = Math.max(9, Math.min(44, Math.floor((byId("map").clientWidth - left - 2) / x.labels.length)));
    const bottom = rows.length * size;
    const drawn = element("svg", { width: left + x.labels.length * size + 2, height: bottom + 24, role: "group" });
    const most = Math.max(...found.map((cell) => cell.share));
    for (const cell of found) {
      // The square root keeps rare states visible beside the first one.
      const strength = most > 0 ? Math.sqrt(cell.share / most) : 0;
      const text = described(x, y, cell);
      const box = element("rect", {
        x: left + cell.column * size + 1, y: cell.row * size + 1, width: size - 2, height: size - 2, rx: 2,
        "fill-opacity": strength.toFixed(3),
      });
      box.append(element("title", {}, text));
      const tell = () => {
        drawn.querySelector(".picked")?.classList.remove("picked");
        box.classList.add("picked");
        readout.textContent = text;
      };
      box.addEventListener("pointerenter", tell);
      box.addEventListener("click", tell);
      drawn.append(box);
    }
    const wide = every(7 * widest(x.labels) + 8, size);
    x.labels.forEach((label, i) => {
      if (i % wide === 0) {
        drawn.append(element("text", { x: left + (i + 0.5) * size, y: bottom + 16, "text-anchor": "middle" }, label));
      }
    });
    const high = every(13, size);
    rows.forEach((label, i) => {
      if (i % high === 0) {
        drawn.append(element("text", { x: left - 5, y: (i + 0.5) * size + 4, "text-anchor": "end" }, label));
      }
    });
    byId("map").replaceChildren(drawn);
    readout.textContent = (map.left_out > 0 ? `${map.left_out} rarely visited observations are left out. ` : "")
      + `The darkest cell has ${percent(most)} of visits. Point at a cell to read it.`;
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
  new ResizeObserver(() => {
    if (byId("map").clientWidth !== drawnFor) {
      drawnFor = byId("map").clientWidth;
      draw();
    }
  }).observe(byId("map"));

  for (const tools of document.querySelectorAll(".tools")) tools.hidden = false;
  const whole = Math.min(1, view.clientWidth / width);
  if (whole >= readable) fit(); else showRoot(readable);
})();
