// Keeps the view fresh with the server's event stream. The server writes all HTML; this module only puts it in place.
const live = document.getElementById("live");
const state = document.getElementById("state");
const spoken = document.getElementById("spoken");
const button = document.getElementById("pause");

const speakEvery = 10_000; // milliseconds between two messages to a screen reader about what is shown
const retryAfter = 5_000; // milliseconds until a stream is asked for again that was refused

let source = null, retry = 0, paused = false;
let speaking = 0; // the timer of the next message to a screen reader
let heard = summary(); // what it said

function summary() {
  return document.getElementById("summary")?.textContent ?? "";
}

function connect() {
  disconnect();
  source = new EventSource(live.dataset.stream);
  source.onopen = () => say("Live.");
  source.onerror = () => {
    say("Not connected. Trying again.");
    if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, retryAfter);
  };
  on("live", (html) => patch(live, parse("div", html)));
  on("problem", say);
}

function disconnect() {
  clearTimeout(retry);
  source?.close();
}

// on handles one kind of event. What is shown after it is live again.
function on(kind, handle) {
  source.addEventListener(kind, (event) => {
    if (kind !== "problem") {
      if (!live.hasChildNodes()) return location.replace(live.dataset.view); // it could not be read before
      say("Live.");
    }
    handle(event.data);
    speak();
  });
}

function say(text) {
  if (state.textContent !== text) state.textContent = text;
}

// speak tells a screen reader, a while after something came, what there is then: in one message for all that came.
function speak() {
  speaking ||= setTimeout(() => {
    speaking = 0;
    if (summary() !== heard) spoken.textContent = heard = summary();
  }, speakEvery);
}

// parse returns an element with the HTML in it. The server has escaped all text of others.
function parse(name, html) {
  const element = document.createElement(name);
  element.innerHTML = html;
  return element;
}

const keyOf = (node) => node.dataset?.key;
const isBlank = (node) => node.nodeType === Node.TEXT_NODE && node.nodeValue.trim() === "";

// patch gives an element the children of another one. Elements that are in both stay, so that the focus and a selection
// of text stay. Children with a data-key belong together if their keys are equal, others if they are of one kind. Text
// without letters between elements is left out.
function patch(old, fresh) {
  const wanted = [...fresh.childNodes].filter((node) => !isBlank(node));
  const keys = new Set(wanted.map(keyOf));
  for (const node of [...old.childNodes]) if (isBlank(node) || (keyOf(node) && !keys.has(keyOf(node)))) node.remove();
  const keyed = new Map([...old.children].filter(keyOf).map((node) => [keyOf(node), node]));
  let at = old.firstChild;
  for (const next of wanted) {
    const key = keyOf(next);
    const match = key ? keyed.get(key) : at?.nodeName === next.nodeName && !keyOf(at) ? at : null;
    if (!match) {
      old.insertBefore(next, at);
      continue;
    }
    keyed.delete(key);
    if (match.contains(document.activeElement)) at = bringForward(match, at);
    if (match === at) at = at.nextSibling;
    else old.insertBefore(match, at);
    update(match, next);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

// bringForward puts what is from a node up to another one behind all, and returns the other one, which is not moved: an
// element that is moved loses the focus.
function bringForward(node, from) {
  while (from !== node) {
    const other = from;
    from = from.nextSibling;
    other.parentNode.append(other);
  }
  return node;
}

function update(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (old.nodeName === "INPUT") return; // it is of its user
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  patch(old, fresh);
}

function togglePause() {
  paused = !paused;
  button.textContent = paused ? "Resume" : "Pause";
  if (paused) {
    disconnect();
    say("Paused.");
  } else connect();
}

if (live) {
  button.hidden = false;
  button.addEventListener("click", togglePause);
  // A window in the background has no stream: a browser permits few connections to one server.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) disconnect();
    else if (!paused) connect();
  });
  if (!document.hidden) connect();
}
