// A terminal without a screen, for oracle_test.go: one JSON object a line in, one
// JSON list of rows out.
const { Terminal } = require('@xterm/headless');
const { Unicode11Addon } = require('@xterm/addon-unicode11');
const readline = require('readline');

let terminal;

function reset([cols, rows]) {
  if (terminal) terminal.dispose();
  terminal = new Terminal({ cols, rows, scrollback: 50000, allowProposedApi: true });
  terminal.loadAddon(new Unicode11Addon());
  terminal.unicode.activeVersion = '11'; // as in VS Code
}

// rows are the scrollback and the screen; rows that were wrapped are one.
function rows() {
  const buffer = terminal.buffer.active;
  const out = [];
  for (let y = 0; y < buffer.length; y++) {
    const line = buffer.getLine(y);
    let text = line.translateToString(false);
    const next = buffer.getLine(y + 1);
    const last = line.getCell(terminal.cols - 1);
    // A wide character that did not fit has left a cell that nobody wrote.
    if (next && next.isWrapped && last.getCode() === 0 && last.getWidth() === 1) text = text.slice(0, -1);
    if (line.isWrapped && out.length > 0) out[out.length - 1] += text;
    else out.push(text);
  }
  return out.map((row) => row.trimEnd());
}

reset([80, 24]);
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  const answer = (value) => process.stdout.write(JSON.stringify(value) + '\n');
  if ('write' in message) return terminal.write(message.write, () => answer([]));
  if ('resize' in message) terminal.resize(...message.resize);
  if ('reset' in message) reset(message.reset);
  answer('rows' in message ? rows() : []);
});
