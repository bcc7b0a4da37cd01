// The format of server-sent events: text in pieces in, events out.
// https://html.spec.whatwg.org/multipage/server-sent-events.html

/** Returns a function that takes the next piece and calls emit({event, id, data}) for each event in it. */
export function sseParser(emit) {
  let rest = "", event = "", data = [], id = "", begun = false;
  const line = (l) => {
    if (l === "") {
      if (data.length) emit({ event: event || "message", id, data: data.join("\n") });
      event = "";
      data = [];
      return;
    }
    const colon = l.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? l : l.slice(0, colon);
    let value = colon < 0 ? "" : l.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "data") data.push(value);
    else if (field === "event") event = value;
    else if (field === "id" && !value.includes("\0")) id = value;
  };
  return (piece) => {
    if (!begun && piece) {
      begun = true;
      if (piece.startsWith("\uFEFF")) piece = piece.slice(1);
    }
    const text = rest + piece;
    let from = 0;
    // A return that ended the last piece is looked at again.
    for (let n = rest.endsWith("\r") ? rest.length - 1 : rest.length; n < text.length; n++) {
      const c = text.charCodeAt(n);
      if (c !== 10 && c !== 13) continue;
      // A return at the very end may be half of a line's end.
      if (c === 13 && n === text.length - 1) break;
      line(text.slice(from, n));
      if (c === 13 && text.charCodeAt(n + 1) === 10) n++;
      from = n + 1;
    }
    rest = text.slice(from);
  };
}
