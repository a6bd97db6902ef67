'use strict';
// Fetches what is new each second; tables are text only.
(() => {
  const state = document.getElementById('state'), tables = document.getElementById('tables');
  const put = (parent, name, text) => { const e = document.createElement(name); e.textContent = text; parent.append(e); return e; };
  function show(list) {
    tables.replaceChildren();
    for (const table of list) {
      put(tables, 'h2', table.title);
      if (!table.rows.length) { put(tables, 'p', table.none).className = 'note'; continue; }
      const box = put(tables, 'div', ''), grid = put(box, 'table', ''), head = put(grid, 'tr', '');
      box.className = 'scroll';
      table.head.forEach((text, n) => { put(head, 'th', text).className = n < table.head.length - 1 ? 'n' : ''; });
      for (const row of table.rows) {
        const line = put(grid, 'tr', '');
        row.forEach((text, n) => { put(line, 'td', text).className = n < row.length - 1 ? 'n' : ''; });
      }
    }
  }
  async function turn() {
    try {
      const answer = await (await fetch('/data')).json();
      state.textContent = answer.state; state.className = 'verdict' + (answer.trouble ? ' bad' : '');
      if (answer.page) UPDATE(answer.page);
      show(answer.tables);
    } catch (error) {
      state.textContent = 'the watching program does not answer'; state.className = 'verdict bad';
    }
    setTimeout(turn, 1000);
  }
  turn();
})();
