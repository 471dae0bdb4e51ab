// Rewrites the functions of the modules of a bundle so that it starts faster. The bundler makes an object for each
// module, with the module's path as the key of its function: as many keys cost as many hidden classes at each start,
// and their text. All get the same key.
//
// The functions of modules that run whenever the script is loaded are put in parentheses. V8 takes this as a sign to
// compile them with the script: without it, it reads over them first, and once more when they are called.
import {runInThisContext} from 'node:vm';

const key = 'run';
const start = /\b(?:__esm|__commonJS)\(\{("[^"]*"|[\w$]+)\(/g;

/** The bundler's own functions that take the function of a module. */
const takers = /\b(__esm|__commonJS) ?= ?\((\w+), ?([^)]*)\) ?=>/g;

/**
 * Returns the text of each module's function in the order of the script, and whether `use` runs it, which is called
 * with the script's function.
 */
const functionsOf = (text, filename, use) => {
  const functions = [];
  globalThis.noteModule = of => {
    const [name] = Object.keys(of);
    const run = of[name];
    const noted = {text: run.toString(), runs: false};
    functions.push(noted);
    of[name] = function (...values) {
      noted.runs = true;
      return run.apply(this, values);
    };
  };
  try {
    use(runInThisContext(text.replace(takers, '$1=($2,$3,noted=noteModule($2))=>'), {filename}));
  } finally {
    delete globalThis.noteModule;
  }
  return functions;
};

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const valueOf = new Map([...digits].map((digit, value) => [digit, value]));

/** Reads the first number of a segment of a source map. Returns it with the rest of the segment. */
const readNumber = segment => {
  let [value, shift, at] = [0, 0, 0];
  for (let more = true; more; shift += 5, at++) {
    const bits = valueOf.get(segment[at]);
    value += (bits & 31) << shift;
    more = bits > 31;
  }
  return [value & 1 ? -(value >> 1) : value >> 1, segment.slice(at)];
};

const writeNumber = number => {
  let [rest, text] = [number < 0 ? (-number << 1) | 1 : number << 1, ''];
  do {
    text += digits[(rest & 31) | (rest > 31 ? 32 : 0)];
    rest >>= 5;
  } while (rest > 0);
  return text;
};

/** Moves the columns of one line by its edits, which are in the order of their columns. */
const moved = (line, edits) => {
  let [column, written, gone, next] = [0, 0, 0, 0];
  const segments = line.split(',').map(segment => {
    const [step, rest] = readNumber(segment);
    column += step;
    for (; edits[next]?.to <= column; next++) gone += edits[next].to - edits[next].from - edits[next].text.length;
    const target = Math.min(column, edits[next]?.from ?? Infinity) - gone;
    const text = writeNumber(target - written) + rest;
    written = target;
    return text;
  });
  return segments.join(',');
};

/** Returns the edits of a bundle in their order, each with its place and the text that takes it. */
const editsOf = (text, functions) => {
  const edits = [];
  const starts = [...text.matchAll(start)];
  if (functions && functions.length !== starts.length) throw new Error(`${starts.length} modules, but ${functions.length} functions`);
  for (const [at, {0: match, 1: old, index}] of starts.entries()) {
    const to = index + match.length - 1;
    const from = to - old.length;
    const {runs, text: whole} = functions?.[at] ?? {};
    edits.push({from, to, text: runs ? `${key}:(function` : key});
    if (!runs) continue;
    if (!text.startsWith(whole, from)) throw new Error(`the function of ${old} is not where it should be`);
    edits.push({from: from + whole.length, to: from + whole.length, text: ')'});
  }
  return edits.sort((one, other) => one.from - other.from);
};

/**
 * Returns the text of a bundle with one key, and its source map. With `use`, the modules that it runs are compiled with
 * the script: it is called with the script's function.
 */
export const withOneKey = (text, map, use, filename) => {
  const edits = editsOf(text, use && functionsOf(text, filename, use));
  const lines = text.split('\n');
  const mappings = map.mappings.split(';');
  let [begin, next] = [0, 0];
  for (const [at, line] of lines.entries()) {
    const own = [];
    for (; edits[next]?.from <= begin + line.length; next++) {
      const {from, to, text: put} = edits[next];
      own.push({from: from - begin, to: to - begin, text: put});
    }
    begin += line.length + 1;
    if (own.length === 0) continue;
    let [written, last] = ['', 0];
    for (const {from, to, text: put} of own) {
      written += line.slice(last, from) + put;
      last = to;
    }
    lines[at] = written + line.slice(last);
    if (mappings[at]) mappings[at] = moved(mappings[at], own);
  }
  return {text: lines.join('\n'), map: {...map, mappings: mappings.join(';')}};
};
