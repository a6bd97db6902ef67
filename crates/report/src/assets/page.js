'use strict';
// Draws PAGE.panels on canvases; zoom and hover are shared by all of them.
(() => {
  const root = document.documentElement, graphs = document.getElementById('graphs');
  const all = () => [0, Math.max(1, PAGE.places - 1)];
  let view = all(), hover = null, drag = null, pending = false;
  const style = name => getComputedStyle(root).getPropertyValue(name).trim();
  const short = v => {
    const s = Math.abs(v);
    if (s >= 1e9) return (v / 1e9).toFixed(1) + 'G';
    if (s >= 1e6) return (v / 1e6).toFixed(1) + 'M';
    if (s >= 1e4) return (v / 1e3).toFixed(1) + 'k';
    if (s >= 100 || v === 0) return v.toFixed(0);
    if (s >= 1) return v.toFixed(1);
    return v.toFixed(3);
  };
  const time = place => {
    const s = Math.round(place * PAGE.step);
    if (PAGE.places * PAGE.step < 600) return s + ' s';
    const two = n => String(n).padStart(2, '0');
    const h = Math.floor(s / 3600);
    return (h ? h + ':' : '') + two(Math.floor(s / 60) % 60) + ':' + two(s % 60);
  };
  const nice = top => {
    const power = 10 ** Math.floor(Math.log10(top));
    for (const m of [1, 2, 4, 6, 8, 10]) if (m * power >= top) return m * power;
    return 10 * power;
  };
  // The marks of one axis share a unit and as many digits as tell them apart.
  const labels = ticks => {
    const top = ticks[ticks.length - 1];
    const [, scale, sign] = [[1e9, 1e9, 'G'], [1e6, 1e6, 'M'], [1e4, 1e3, 'k']].find(([from]) => top >= from) || [0, 1, ''];
    const exact = d => ticks.every(v => Math.abs(Number((v / scale).toFixed(d)) - v / scale) <= v / scale * 1e-9);
    const digits = [0, 1, 2, 3, 4, 5].find(exact) ?? 6;
    return ticks.map(v => v === 0 ? '0' : (v / scale).toFixed(digits) + sign);
  };
  // Seconds between two marks of the axis, so that there are at most so many.
  const distance = (seconds, most) =>
    [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200].find(d => seconds / d <= most) || 86400;
  // For every so many places: the first of them, the lowest and the highest value, and the mean; null without a value.
  const gather = (points, first, last, step) => {
    const columns = [];
    for (let i = first; i <= last; i += step) {
      let lo = null, hi = null, sum = 0, count = 0;
      for (let j = i; j < i + step && j <= last; j++) {
        const v = points[j];
        if (v == null) continue;
        if (lo == null || v < lo) lo = v;
        if (hi == null || v > hi) hi = v;
        sum += v; count++;
      }
      columns.push([i, lo, hi, count ? sum / count : null]);
    }
    return columns;
  };
  // With several subjects a colour is a subject and a pattern is one of its lines.
  const DASHES = [[], [5, 3], [1.5, 2.5], [9, 3, 2, 3]];
  const name = line => '--c' + line.colour % 8, dash = line => DASHES[line.dash % DASHES.length];
  const swatch = line => {
    const colour = `var(${name(line)})`;
    return line.dash ? `repeating-linear-gradient(90deg, ${colour} 0 ${line.dash % 4 === 2 ? 2 : 5}px, transparent 0 ${line.dash % 4 === 2 ? 4 : 7}px)` : colour;
  };
  let panels = [];
  const build = () => { graphs.replaceChildren(); panels = PAGE.panels.map(panel => {
    const box = document.createElement('div'), head = document.createElement('h3'), unit = document.createElement('small');
    const canvas = document.createElement('canvas'), legend = document.createElement('div');
    box.className = 'graph'; legend.className = 'legend';
    head.append(panel.title + ' '); unit.textContent = panel.unit; head.append(unit);
    const marks = panel.lines.map(line => {
      const item = document.createElement('span'), colour = document.createElement('i'), value = document.createElement('b');
      colour.style.background = swatch(line);
      item.append(colour, line.name + ' ', value); legend.append(item);
      return value;
    });
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', panel.title + ' over time');
    box.append(head, canvas, legend); graphs.append(box);
    listen(canvas);
    return { panel, canvas, marks, isNear: false };
  });
    near.disconnect();
    for (const entry of panels) {
      entry.isNear = entry.canvas.getBoundingClientRect().top < innerHeight + MARGIN;
      near.observe(entry.canvas);
    }
  };
  // Only what is in the window or close to it is drawn.
  const MARGIN = 300;
  const near = new IntersectionObserver(changes => {
    for (const change of changes) {
      const entry = panels.find(({ canvas }) => canvas === change.target);
      if (entry) entry.isNear = change.isIntersecting;
    }
    show();
  }, { rootMargin: MARGIN + 'px' });
  const LEFT = 50, RIGHT = 8, TOP = 8, FOOT = 18;
  const placeAt = (canvas, clientX) => {
    const r = canvas.getBoundingClientRect(), share = (clientX - r.left - LEFT) / (r.width - LEFT - RIGHT);
    return Math.min(Math.max(view[0] + share * (view[1] - view[0]), view[0]), view[1]);
  };
  function draw({ panel, canvas, marks }) {
    const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
    if (!w) return;
    canvas.width = w * ratio; canvas.height = h * ratio;
    const c = canvas.getContext('2d');
    c.scale(ratio, ratio);
    const first = Math.floor(view[0]), last = Math.ceil(view[1]), width = w - LEFT - RIGHT, height = h - TOP - FOOT;
    let top = 0, low = Infinity;
    for (const { points } of panel.lines) for (let i = first; i <= last; i++) {
      const v = points[i];
      if (v == null) continue;
      if (v > top) top = v;
      if (v > 0 && v < low) low = v;
    }
    if (!(top > 0)) top = 1;
    const log = panel.log && low < top;
    if (log) { low = 10 ** Math.floor(Math.log10(low)); top = 10 ** Math.ceil(Math.log10(top)); } else top = nice(top);
    const X = i => LEFT + (i - view[0]) / (view[1] - view[0]) * width;
    const Y = v => TOP + height * (1 - (log ? Math.log(Math.max(v, low) / low) / Math.log(top / low) : v / top));
    c.font = '11px system-ui, sans-serif'; c.fillStyle = style('--soft'); c.strokeStyle = style('--line'); c.lineWidth = 1;
    c.textAlign = 'right'; c.textBaseline = 'middle';
    const ticks = [];
    if (log) for (let v = low; v <= top * 1.01; v *= 10) ticks.push(v); else for (let n = 0; n <= 4; n++) ticks.push(top * n / 4);
    const texts = log ? ticks.map(v => v < 1 ? String(Number(v.toPrecision(1))) : v < 1e4 ? v.toFixed(0) : v / 1e3 + 'k') : labels(ticks);
    ticks.forEach((v, n) => {
      c.beginPath(); c.moveTo(LEFT, Y(v)); c.lineTo(w - RIGHT, Y(v)); c.stroke(); c.fillText(texts[n], LEFT - 5, Y(v));
    });
    c.textBaseline = 'alphabetic';
    const apart = distance((view[1] - view[0]) * PAGE.step, Math.max(1, width / 75)) / PAGE.step;
    for (let i = Math.ceil(view[0] / apart) * apart; i <= view[1]; i += apart) {
      const x = X(i);
      c.textAlign = x < LEFT + 16 ? 'left' : x > w - RIGHT - 16 ? 'right' : 'center';
      c.fillText(time(i), x, h - 4);
    }
    c.save(); c.beginPath(); c.rect(LEFT, TOP - 4, width, height + 8); c.clip();
    c.fillStyle = style('--line');
    for (const [from, to] of PAGE.gaps) c.fillRect(X(from), TOP, Math.max(1, X(to) - X(from)), height);
    // Where the parts of a measurement begin; a name that would lie upon the one before is left out.
    let free = -Infinity;
    c.textAlign = 'left'; c.strokeStyle = style('--soft'); c.fillStyle = c.strokeStyle; c.setLineDash([2, 3]);
    for (const [at, text] of PAGE.marks) {
      const x = X(at);
      c.beginPath(); c.moveTo(x, TOP); c.lineTo(x, TOP + height); c.stroke();
      if (x < free) continue;
      c.fillText(text, x + 3, TOP + 8); free = x + 10 + c.measureText(text).width;
    }
    c.setLineDash([]);
    const step = Math.max(1, Math.ceil((last - first) / width));
    // Many seconds in one pixel: a pale band from the lowest to the highest, and the mean as the line, so that no line
    // hides another and no second is left out.
    const columns = panel.lines.map(({ points }) => gather(points, first, last, step));
    const colours = panel.lines.map(line => style(name(line)));
    if (step > 1) columns.forEach((column, n) => {
      if (panel.lines[n].dash) return;
      c.fillStyle = colours[n]; c.globalAlpha = 0.3;
      for (const [i, lo, hi] of column) if (lo != null) c.fillRect(X(i) - 0.5, Y(hi), 1, Math.max(1, Y(lo) - Y(hi)));
      c.globalAlpha = 1;
    });
    columns.forEach((column, n) => {
      c.strokeStyle = c.fillStyle = colours[n]; c.lineWidth = 1.4; c.setLineDash(dash(panel.lines[n])); c.beginPath();
      let open = false;
      column.forEach(([i, lo, , mean], at) => {
        if (lo == null) { open = false; return; }
        if (open) c.lineTo(X(i), Y(mean)); else c.moveTo(X(i), Y(mean));
        // A value between two holes has no line; it is a dot.
        if (!open && column[at + 1]?.[1] == null) c.fillRect(X(i) - 1, Y(mean) - 1, 2.5, 2.5);
        open = true;
      });
      c.stroke();
    });
    c.setLineDash([]);
    if (drag) {
      c.fillStyle = style('--ink'); c.globalAlpha = 0.12;
      c.fillRect(X(Math.min(drag[0], drag[1])), TOP, Math.abs(X(drag[1]) - X(drag[0])), height); c.globalAlpha = 1;
    }
    if (hover != null) {
      c.strokeStyle = style('--soft'); c.lineWidth = 1; c.beginPath(); c.moveTo(X(hover), TOP); c.lineTo(X(hover), TOP + height); c.stroke();
      panel.lines.forEach(({ points }, n) => {
        const v = points[hover];
        if (v == null) return;
        c.fillStyle = colours[n]; c.beginPath(); c.arc(X(hover), Y(v), 3, 0, 7); c.fill();
      });
    }
    c.restore();
    panel.lines.forEach(({ points }, n) => {
      const v = hover == null ? null : points[hover];
      marks[n].textContent = v == null ? '' : short(v);
    });
  }
  function show() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      panels.filter(entry => entry.isNear).forEach(draw);
      // For tests: milliseconds from the start of loading to the first drawing.
      root.dataset.drawn ||= Math.ceil(performance.now());
      const where = document.getElementById('where');
      where.textContent = hover != null ? 'at ' + time(hover) : view[0] > 0 || view[1] < PAGE.places - 1
        ? `from ${time(view[0])} to ${time(view[1])}; double click shows all` : 'drag to zoom, all graphs follow';
    });
  }
  function listen(canvas) {
    canvas.addEventListener('pointermove', e => {
      hover = Math.round(placeAt(canvas, e.clientX));
      if (drag) drag[1] = placeAt(canvas, e.clientX);
      show();
    });
    canvas.addEventListener('pointerleave', () => { if (!drag) { hover = null; show(); } });
    canvas.addEventListener('pointerdown', e => {
      const at = placeAt(canvas, e.clientX);
      drag = [at, at]; canvas.setPointerCapture(e.pointerId);
    });
    const end = () => {
      if (drag && Math.abs(drag[1] - drag[0]) >= 2) view = [Math.min(...drag), Math.max(...drag)];
      drag = null; show();
    };
    canvas.addEventListener('pointerup', end);
    canvas.addEventListener('pointercancel', () => { drag = null; hover = null; show(); });
    canvas.addEventListener('dblclick', () => { view = all(); show(); });
  }
  for (const row of document.querySelectorAll('tr.dip')) row.addEventListener('click', () => {
    const at = Number(row.dataset.place);
    view = [Math.max(0, at - 20), Math.min(PAGE.places - 1, at + 20)]; hover = at;
    graphs.scrollIntoView({ behavior: 'smooth' }); show();
  });
  document.getElementById('theme').addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark'; show();
  });
  if (location.hash === '#dark' || location.hash === '#light') root.dataset.theme = location.hash.slice(1);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);
  new ResizeObserver(show).observe(graphs);
  addEventListener('beforeprint', () => panels.forEach(draw));
  const shape = page => page.panels.map(panel => panel.title + panel.lines.map(line => line.name)).join();
  // A live page brings new values each second; the view moves along unless one has zoomed.
  window.UPDATE = page => {
    const was = view[0] <= 0 && view[1] >= PAGE.places - 1, same = shape(page) === shape(PAGE) && panels.length;
    PAGE = page;
    if (was) view = all();
    if (same) panels.forEach((entry, n) => { entry.panel = PAGE.panels[n]; }); else build();
    show();
  };
  build();
  show();
})();
