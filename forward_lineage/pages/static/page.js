// What Bokeh's pictures cannot do: the page's text, keys, tables, and the part of the address behind #.
// Whatever comes from the data is set as text, never as HTML.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  const views = [...document.querySelectorAll("section.view")].map((section) => ({
    section,
    list: section.querySelector("[role=listbox]"),
    chosen: section.querySelector(".head .chosen"),
    clear: section.querySelector(".clear"),
    least: section.querySelector(".least"),
    most: section.querySelector(".most"),
    hint: section.querySelector(".hint"),
    total: section.querySelector(".total"),
    rows: [...section.querySelectorAll("tr[data-bar]")],
  }));
  const element = (name, text, className) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  };

  // Bokeh writes its style sheets again whenever it paints, mostly the same: then styles of the whole page are computed
  // again, which takes longer than the painting.
  const written = Object.getOwnPropertyDescriptor(Node.prototype, "textContent");
  Object.defineProperty(HTMLStyleElement.prototype, "textContent", {
    ...written,
    set(text) {
      if (written.get.call(this) !== text) written.set.call(this, text);
    },
  });

  let talk = null;
  let said = 0;
  const say = (order) => {
    if (talk) talk.heard = { ...order, n: ++said };
  };

  // ---------------------------------------------------------------- what we are told

  // Behind the pictures, in the same frame: text that changes before them makes the browser lay them out twice.
  const showAnswer = (answer) => window.requestAnimationFrame(() => tellAnswer(answer));

  const tellAnswer = (answer) => {
    byId("left").textContent = answer.rows;
    byId("announce").textContent = answer.announce;
    byId("clear").disabled = answer.chosen.every((text) => !text);
    views.forEach((view, number) => {
      view.chosen.textContent = view.chosen.title = answer.chosen[number];
      view.clear.classList.toggle("there", Boolean(answer.chosen[number]));
      view.total.textContent = answer.totals[number];
      if (view.most) [view.least.textContent, view.most.textContent] = answer.ends[number];
      const table = answer.tables[number];
      if (table) showTable(view, table);
    });
    window.clearTimeout(addressed);
    addressed = window.setTimeout(() => address(answer.link), 150);
    document.body.dataset.answers = answer.n;
  };

  // When the hand has come to rest: an address takes long to change, and browsers allow it some times a second.
  let addressed = 0;
  const address = (link) => {
    if (link === null) fail("So many bars are too long for an address: a copy of it will not show them.");
    else if (window.location.hash.slice(1) !== link) {
      window.history.replaceState(null, "", link ? "#" + link : window.location.pathname);
    }
  };

  const showTable = (view, table) => {
    const chosen = new Set(table.chosen);
    const nothing = new Set(table.nothing);
    view.rows.forEach((row, place) => {
      const cells = table.cells[place];
      const first = row.cells.length - cells.length;
      cells.forEach((text, at) => {
        const cell = row.cells[first + at];
        if (cell.textContent !== text) cell.textContent = text;
      });
      row.classList.toggle("chosen", chosen.has(place));
      row.classList.toggle("nothing", nothing.has(place));
    });
  };

  const showOption = (option) => {
    const { list, hint, rows } = views[option.view];
    list.querySelector(".bar")?.remove();
    list.removeAttribute("aria-activedescendant");
    for (const row of rows) row.classList.remove("here");
    hint.hidden = option.bar !== null;
    if (option.bar === null) return;
    const made = element("div");
    made.className = "bar";
    made.id = `bar${option.view}-${option.bar}-${said}`; // a new one each time, so that it is read aloud
    made.setAttribute("role", "option");
    made.setAttribute("aria-selected", String(option.chosen));
    made.setAttribute("aria-posinset", option.place);
    made.setAttribute("aria-setsize", list.dataset.size);
    made.append(element("span", option.label, "label"), element("span", option.text));
    list.append(made);
    list.setAttribute("aria-activedescendant", made.id);
    const row = rows.find((each) => Number(each.dataset.bar) === option.bar);
    if (row) {
      row.classList.add("here");
      if (document.activeElement === list) row.scrollIntoView({ block: "nearest" });
    }
  };

  const showRows = (rows) => {
    const table = byId("base");
    const there = rows.state === "there";
    table.setAttribute("aria-busy", String(rows.state === "reading"));
    byId("export").hidden = rows.state === "none";
    byId("query").hidden = true;
    byId("before").hidden = !there || rows.first === 0;
    byId("after").hidden = !there || rows.first + rows.body.length >= rows.left;
    if (rows.state === "none") {
      byId("rows-said").textContent = "Choose bars to see the rows they were made of.";
      table.replaceChildren();
    } else if (rows.state === "reading") {
      byId("rows-said").textContent = "reading …";
    } else if (there) {
      const last = rows.first + rows.body.length;
      const count = (number) => number.toLocaleString("en-US");
      byId("rows-said").textContent = rows.left
        ? `${count(rows.first + 1)} to ${count(last)} of ${count(rows.left)}`
        : "No row is left.";
      table.dataset.first = rows.first;
      table.dataset.step = rows.step;
      const head = element("thead");
      const titles = head.insertRow();
      const numbers = new Set(rows.numbers);
      rows.head.forEach((name, place) => titles.append(heading(name, numbers.has(place))));
      const body = element("tbody");
      for (const cells of rows.body) {
        const row = body.insertRow();
        cells.forEach((text, place) => {
          const cell = row.insertCell();
          cell.classList.toggle("number", numbers.has(place));
          cell.append(text === null ? element("i", "NULL") : text);
        });
      }
      table.replaceChildren(head, body);
    }
  };

  // Sorts the rows that are there; the others of a longer table stay where they are.
  const heading = (name, number) => {
    const title = element("th");
    title.classList.toggle("number", number);
    title.scope = "col";
    makeSortable(title, name);
    return title;
  };

  const makeSortable = (title, name) => {
    const button = element("button", name, "sort");
    button.type = "button";
    button.title = "Sort the rows that are shown";
    button.addEventListener("click", () => sortBy(title));
    title.replaceChildren(button);
  };

  const sortBy = (title) => {
    const table = title.closest("table"), place = title.cellIndex, body = table.tBodies[0];
    const down = title.getAttribute("aria-sort") === "ascending";
    for (const other of title.parentNode.cells) other.removeAttribute("aria-sort");
    title.setAttribute("aria-sort", down ? "descending" : "ascending");
    const sign = down ? -1 : 1;
    const keyOf = (row) => {
      const cell = row.cells[place], text = cell.textContent, number = Number(text.replaceAll(",", ""));
      return { none: Boolean(cell.querySelector("i")), text, number: text.trim() && !Number.isNaN(number) ? number : null };
    };
    const rows = [...body.rows].map((row) => [keyOf(row), row]);
    const numeric = rows.every(([key]) => key.none || key.number !== null);
    rows.sort(([one], [other]) => {
      if (one.none || other.none) return Number(one.none) - Number(other.none); // NULL is last, either way
      return sign * (numeric ? one.number - other.number : one.text < other.text ? -1 : Number(one.text > other.text));
    });
    body.append(...rows.map(([, row]) => row));
  };

  const showFile = ({ name, text }) => {
    const query = byId("query");
    query.hidden = Boolean(name) || !text;
    if (!name) return void (query.textContent = text);
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    link.download = name;
    link.click();
    window.setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    document.body.dataset.file = text.length;
  };

  const fail = (what, remedy) => {
    const place = byId("failed");
    place.hidden = !what;
    if (!what) return place.replaceChildren();
    const button = element("button", remedy ? "Reload" : "Close");
    button.type = "button";
    button.addEventListener("click", () => (remedy ? window.location.reload() : fail("")));
    place.replaceChildren(button, element("span", what));
  };

  // ---------------------------------------------------------------- what somebody does

  const MOVES = {
    ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1,
    PageUp: -10, PageDown: 10, Home: "first", End: "last",
  };
  let typed = "";
  let typing = 0;

  const pressed = (event, view) => {
    if (event.altKey || event.metaKey) return;
    const { key } = event;
    if (key in MOVES) say({ do: "move", view, by: MOVES[key], extend: event.shiftKey });
    else if (key === " " && !typed) say({ do: "pick", view, add: true });
    else if (key === "Enter") say({ do: "pick", view });
    else if (key === "Escape") say({ do: "clear", view });
    else if (event.ctrlKey) return;
    else if (key === "+") say({ do: "zoom", view, factor: 0.5 });
    else if (key === "-" && !typed) say({ do: "zoom", view, factor: 2 });
    else if (key === "0" && !typed) say({ do: "zoom", view, factor: 0 });
    else if (key.length === 1) {
      typed += key;
      window.clearTimeout(typing);
      typing = window.setTimeout(() => (typed = ""), 800);
      say({ do: "find", view, text: typed });
    } else return;
    event.preventDefault();
  };

  views.forEach((view, number) => {
    view.list.dataset.size = view.hint.dataset.size ?? "";
    view.list.addEventListener("keydown", (event) => pressed(event, number));
    view.list.addEventListener("focus", () => {
      if (!view.list.hasAttribute("aria-activedescendant")) say({ do: "move", view: number, by: 0 });
    });
    view.clear.addEventListener("click", () => {
      say({ do: "clear", view: number });
      view.list.focus();
    });
    const find = view.section.querySelector(".find");
    find?.addEventListener("input", () => say({ do: "find", view: number, text: find.value, inside: true }));
    find?.addEventListener("keydown", (event) => {
      if (event.key === "Enter") say({ do: "pick", view: number, add: true });
    });
    const ends = ["first", "last"].map((name) => view.section.querySelector(`.ask .${name}`));
    const choose = () => say({ do: "range", view: number, first: ends[0].value, last: ends[1].value });
    view.section.querySelector(".choose")?.addEventListener("click", choose);
    for (const end of ends) end?.addEventListener("keydown", (event) => event.key === "Enter" && choose());
    for (const title of view.section.querySelectorAll("th")) makeSortable(title, title.textContent);
    for (const row of view.rows) {
      row.addEventListener("click", (event) => {
        const add = event.shiftKey || event.ctrlKey || event.metaKey;
        say({ do: "pick", view: number, bar: Number(row.dataset.bar), add });
      });
    }
  });
  byId("clear").addEventListener("click", () => say({ do: "clear all" }));
  byId("scale").addEventListener("change", (event) => {
    say({ do: "scale", all: event.target.checked });
    byId("pale").textContent = event.target.checked ? "all rows" : "the shape of all rows, scaled to what is left: not on the axis";
    document.querySelector(".swatch.all").classList.toggle("shape", !event.target.checked);
  });
  byId("help").addEventListener("click", () => {
    const keys = byId("keys");
    keys.hidden = !keys.hidden;
    byId("help").setAttribute("aria-expanded", String(!keys.hidden));
  });
  const page = (by) => {
    const { first, step } = byId("base").dataset;
    say({ do: "rows", first: Number(first) + by * Number(step) });
  };
  byId("csv").addEventListener("click", () => say({ do: "csv" }));
  byId("sql").addEventListener("click", () => say({ do: "sql" }));
  byId("before").addEventListener("click", () => page(-1));
  byId("after").addEventListener("click", () => page(1));
  window.addEventListener("hashchange", () => say({ do: "link", link: window.location.hash }));

  // ---------------------------------------------------------------- the beginning

  // Keys go to the list above a picture: Bokeh's canvas takes none, and nobody should get stuck in it.
  const passOver = (node) => {
    for (const each of node.querySelectorAll("*")) {
      each.removeAttribute("tabindex");
      if (each.shadowRoot) passOver(each.shadowRoot);
    }
  };

  const start = () => {
    const bokeh = window.Bokeh?.documents?.[0];
    const found = bokeh?.get_model_by_name("talk");
    if (!found) return void window.setTimeout(start, 20);
    talk = found;
    const listen = (name, act) => talk.properties[name].change.connect(() => act(talk[name]));
    listen("answer", showAnswer);
    listen("option", showOption);
    listen("rows", showRows);
    listen("file", showFile);
    listen("failed", (what) => fail(what));
    bokeh.on_event("connection_lost", () => {
      fail("The page has lost its server. The address keeps what was chosen.", true);
    });
    for (const { section, list } of views) {
      const picture = section.querySelector(".picture");
      if (!picture) continue;
      passOver(picture);
      picture.addEventListener("pointerdown", () => window.setTimeout(() => list.focus({ preventScroll: true })));
    }
    say({ do: "link", link: window.location.hash });
  };
  start();
})();
