"use strict";
// Makes the headings of a table buttons that sort its rows: descending, ascending, and in their first order again. Returns a
// function that sorts in the same way after rows are new, or have changed.
perfkit.sortable = (table) => {
  const heads = [...table.tHead.rows[0].cells], [body] = table.tBodies;
  let [column, sign, first] = [null, -1, []];
  // A number, the length of a shift, or a text.
  const valueOf = (row) => {
    const text = row.cells[column]?.textContent ?? "";
    if (text === "none") return 0;
    const numbers = text.split(", ").map((part) => Number(part.replace("< ", "")));
    if (text === "" || numbers.some(Number.isNaN)) return text;
    return numbers.length > 1 ? Math.hypot(...numbers) : numbers[0];
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  const sort = () => {
    heads.forEach((head, at) => head.setAttribute("aria-sort", at !== column ? "none" : sign < 0 ? "descending" : "ascending"));
    if (column === null) return body.append(...first);
    // Texts begin with A. Rows that move lose the focus.
    const values = first.map((row) => [valueOf(row), row]), direction = values.some(([value]) => typeof value === "string") ? -sign : sign;
    const focused = body.contains(document.activeElement) ? document.activeElement : null;
    body.append(...values.sort(([a], [b]) => direction * compare(a, b)).map(([, row]) => row));
    focused?.focus();
  };
  heads.forEach((head, at) => {
    const button = perfkit.element("button", { type: "button", class: "sort", title: "Sort by this column" }, head.textContent);
    button.addEventListener("click", () => {
      if (column !== at) [column, sign] = [at, -1];
      else if (sign < 0) sign = 1;
      else column = null;
      sort();
    });
    head.replaceChildren(button);
  });
  return (areNew) => {
    if (areNew) first = [...body.rows];
    if (areNew || column !== null) sort();
  };
};
