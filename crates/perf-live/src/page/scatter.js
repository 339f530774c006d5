// Scatter plot. Arrow keys move between points, Enter or a click selects one.
class Scatter {
  constructor(section, choose) {
    this.canvas = find(":scope > canvas", section);
    this.status = find(".status", section);
    this.table = find("details table", section);
    this.details = find("details", section);
    this.choose = choose;
    this.points = [];
    this.axes = { x: "", y: "", xTime: false, yTime: false };
    this.cursor = -1;
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("pointermove", (event) => this.point(this.nearest(event)));
    this.canvas.addEventListener("click", (event) => {
      const at = this.nearest(event);
      this.point(at);
      if (at >= 0) this.choose(this.points[at]);
    });
    this.details.addEventListener("toggle", () => this.list());
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  // Points are {x, y, colour, shape, text, ...}; the cursor stays on the point with its key.
  set(points, axes) {
    const key = this.points[this.cursor]?.key;
    this.points = points.slice().sort((a, b) => a.x - b.x || a.y - b.y);
    this.axes = axes;
    this.cursor = key === undefined ? -1 : this.points.findIndex((point) => point.key === key);
    this.canvas.dataset.points = points.length;
    this.canvas.setAttribute("aria-label", `${points.length} points, ${axes.y} by ${axes.x}; arrows move, Enter selects`);
    if (this.cursor < 0) this.status.textContent = points.length ? `${count(points.length)} ${points.length === 1 ? "point" : "points"}` : axes.empty || "No data yet.";
    this.draw();
    this.list();
  }

  range(name, ends) {
    let low = Infinity, high = -Infinity;
    for (const point of this.points) {
      low = Math.min(low, point[name]);
      high = Math.max(high, point[name]);
    }
    if (low > high) return [0, 1];
    if (name === "y" && low > 0 && low < high / 2) low = 0;
    if (low === high && this.axes.whole) return [low - 1, high + 1];
    // One time is shown in a range of a microsecond or more.
    const room = (high - low || Math.abs(high) || (this.axes[name + "Time"] ? 1000 / ends : 1)) * ends;
    return [low - (low === 0 ? 0 : room), high + room];
  }

  draw() {
    const { canvas } = this;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const scale = Math.min(3, devicePixelRatio || 1);
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    const to = canvas.getContext("2d");
    to.setTransform(scale, 0, 0, scale, 0, 0);
    to.clearRect(0, 0, width, height);
    if (!this.points.length) return;
    const [left, right, top, bottom] = [64, 12, 12, 38];
    const [x0, x1] = this.range("x", 0.03), [y0, y1] = this.range("y", 0.06);
    const x = (value) => left + ((value - x0) / (x1 - x0)) * (width - left - right);
    const y = (value) => height - bottom - ((value - y0) / (y1 - y0)) * (height - top - bottom);
    to.font = "11px system-ui, sans-serif";
    to.fillStyle = colour("ink");
    to.strokeStyle = colour("grid");
    to.lineWidth = 1;
    const { axes } = this;
    to.textAlign = "center";
    for (const at of ticks(x0, x1, (width - left) / 90, axes.whole)) {
      to.strokeRect(x(at), top, 0, height - top - bottom);
      to.fillText(axes.xTime ? time(at) : short(at), x(at), height - bottom + 14);
    }
    to.fillText(axes.x, (left + width - right) / 2, height - 6);
    to.textAlign = "right";
    for (const at of ticks(y0, y1, (height - top) / 40, axes.whole)) {
      to.strokeRect(left, y(at), width - left - right, 0);
      to.fillText(axes.yTime ? time(at) : short(at), left - 5, y(at) + 4);
    }
    to.save();
    to.translate(11, (height - bottom) / 2);
    to.rotate(-Math.PI / 2);
    to.textAlign = "center";
    to.fillText(axes.y, 0, 0);
    to.restore();
    for (const point of this.points) {
      point.at = [x(point.x), y(point.y)];
      to.fillStyle = colour(point.colour);
      this.shape(to, point.at, point.shape, 4);
      to.fill();
    }
    const on = this.points[this.cursor];
    if (on) {
      to.strokeStyle = colour("ink");
      to.lineWidth = 2;
      to.beginPath();
      to.arc(on.at[0], on.at[1], 8, 0, 7);
      to.stroke();
      canvas.dataset.at = on.at.map((one) => one.toFixed(1)).join();
    }
  }

  shape(to, [x, y], shape, size) {
    to.beginPath();
    if (shape === 1) to.rect(x - size, y - size, 2 * size, 2 * size);
    else if (shape === 2 || shape === 3) {
      const corners = shape === 2 ? [[0, -1.2], [1.1, 0.9], [-1.1, 0.9]] : [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]];
      corners.forEach(([dx, dy], at) => to[at ? "lineTo" : "moveTo"](x + dx * size, y + dy * size));
      to.closePath();
    } else to.arc(x, y, size, 0, 7);
  }

  nearest(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = -1, least = 20 * 20;
    this.points.forEach((point, at) => {
      const far = (point.at[0] - x) ** 2 + (point.at[1] - y) ** 2;
      if (far < least) [best, least] = [at, far];
    });
    return best;
  }

  point(at) {
    if (at < 0 || at === this.cursor) return;
    this.cursor = at;
    this.status.textContent = this.points[at].text;
    this.draw();
  }

  key(event) {
    const last = this.points.length - 1;
    const to = { ArrowRight: this.cursor + 1, ArrowLeft: this.cursor - 1, Home: 0, End: last }[event.key];
    if (event.key === "Enter" && this.cursor >= 0) this.choose(this.points[this.cursor]);
    else if (to !== undefined) this.point(Math.max(0, Math.min(last, to)));
    else return;
    event.preventDefault();
  }

  // Lists the last 500 points as buttons, while the reader has the list open.
  list() {
    if (!this.details.open) return;
    const rows = this.points.slice(-500).reverse().map((point) => {
      const button = make("button", { type: "button", on: { click: () => this.choose(point) } }, point.text);
      return make("tr", {}, make("td", {}, button));
    });
    this.table.replaceChildren(make("tbody", {}, ...rows));
  }
}
