// Gives the functions of all modules of a bundle one name. The bundler makes an object for each module, with the
// module's path as the key of its function: as many keys cost as many hidden classes at each start, and their text.

const key = 'run';
const start = /\b(?:__esm|__commonJS)\(\{("[^"]*"|[\w$]+)\(/g;

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

/** Moves the columns of one line by what was taken out of it: `changes` are in the order of their columns. */
const moved = (line, changes) => {
  let [column, written, gone, next] = [0, 0, 0, 0];
  const segments = line.split(',').map(segment => {
    const [step, rest] = readNumber(segment);
    column += step;
    for (; changes[next]?.to <= column; next++) gone += changes[next].to - changes[next].from - key.length;
    const target = Math.min(column, changes[next]?.from ?? Infinity) - gone;
    const text = writeNumber(target - written) + rest;
    written = target;
    return text;
  });
  return segments.join(',');
};

/** Returns the text of a bundle with one key, and its source map. */
export const withOneKey = (text, map) => {
  const lines = text.split('\n');
  const mappings = map.mappings.split(';');
  for (const [at, line] of lines.entries()) {
    const changes = [...line.matchAll(start)].map(({0: match, 1: old, index}) => {
      const to = index + match.length - 1;
      return {from: to - old.length, to};
    });
    if (changes.length === 0) continue;
    lines[at] = line.replace(start, (match, old) => `${match.slice(0, -old.length - 1)}${key}(`);
    if (mappings[at]) mappings[at] = moved(mappings[at], changes);
  }
  return {text: lines.join('\n'), map: {...map, mappings: mappings.join(';')}};
};
