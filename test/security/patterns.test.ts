import {createContext, Script} from 'node:vm';
import test from 'ava';
import {sources} from '#test/sources.js';

/** Enough characters that quadratic work shows, and a limit that linear work stays far below. */
const [length, mostMs] = [4000, 2];

/** Characters that the pattern itself names, and one of each class. */
const lettersOf = (source: string): string[] => {
  const plain = source
    .replaceAll(/\\u\{?[0-9a-fA-F]+\}?|\\x[0-9a-fA-F]{2}|\\p\{\w+\}|\(\?<\w+>|\(\?<?[:=!]|\{\d*,?\d*\}/g, '')
    .replaceAll(/\\d/g, '0')
    .replaceAll(/\\s/g, ' ')
    .replaceAll(/\\[wWDS]/g, 'w')
    .replaceAll(/\\[bB]/g, '')
    .replaceAll(/\\n/g, '\n')
    .replaceAll(/\\t/g, '\t')
    .replaceAll(/\\r/g, '\r')
    .replaceAll(/a-z|A-Z|0-9/g, range => range[0]!)
    .replaceAll(/\\(.)/g, '$1');
  return [...new Set(plain.replaceAll(/[()[\]^$*+?|]/g, found => (source.includes(`\\${found}`) ? found : '')))].slice(0, 10);
};

/** Texts that repeat a part, between a beginning and an end that lets the match fail. */
function* textsFor(letters: readonly string[]): Generator<string> {
  const ends = ['', '\0', '\n'];
  const of = (start: string, part: string, end: string) => start + part.repeat(Math.ceil(length / part.length)) + end;
  for (const part of letters) for (const start of ['', ...letters]) for (const end of ends) yield of(start, part, end);
  for (const one of letters) for (const other of letters) for (const end of ends) if (one !== other) yield of('', one + other, end);
}

const context = createContext({run: undefined as (() => void) | undefined});
const call = new Script('run()');
/** The engine checks for the end of the time while it matches, so a pattern that takes for ever is found too. */
const within = (run: () => void): boolean => {
  context['run'] = run;
  try {
    call.runInContext(context, {timeout: 500});
    return true;
  } catch {
    return false;
  }
};

const cpuMs = (): number => {
  const {user, system} = process.cpuUsage();
  return (user + system) / 1000;
};

/** The shortest of three runs, in CPU time: the wall clock of a busy machine says nothing. */
const takesLong = (pattern: RegExp, text: string): boolean => {
  for (let run = 0; run < 3; run++) {
    const before = cpuMs();
    const isDone = within(() => void text.replace(pattern, ''));
    if (isDone && cpuMs() - before < mostMs) return false;
  }
  return true;
};

/** A text that keeps the pattern busy; undefined if none is found. */
const hostileText = (pattern: RegExp): string | undefined => {
  const texts = [...textsFor(lettersOf(pattern.source))];
  let at = 0;
  while (at < texts.length) {
    let slow: number | undefined;
    within(() => {
      for (; at < texts.length; at++) {
        const startedAt = performance.now();
        slow = at;
        void texts[at]!.replace(pattern, '');
        if (performance.now() - startedAt > mostMs) return;
      }
      slow = undefined;
    });
    if (slow === undefined) return undefined;
    if (takesLong(pattern, texts[slow]!)) return texts[slow];
    at = slow + 1;
  }
  return undefined;
};

/** Patterns whose texts are short, or not chosen by clients, and the reason. */
const accepted: Readonly<Record<string, string>> = {
  '/^([+-]?)([0-9]*)(?:\\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/': 'quantities of at most 512 characters',
  '/\\.?0*Z$/': 'times that the server formats',
  '/\\.?0+Z$/': 'times that the server formats',
  '/0+$/': 'fractions that the server formats',
  '/\\B(?=(?:\\d{3})+$)/g': 'numbers that the server formats',
  '/\\*+$/': 'the audit policy file',
  '/\\/+$/': 'kubeconfig files and other configuration files',
  '/\\s*\\n\\s*/g': 'manifests in files, and errors of programs',
  '/\\s*[\\r\\n]+\\s*/g': 'errors of options',
  '/"(?:[^"\\\\]|\\\\.)*"(\\s*:)?|-?\\d[\\d.eE+-]*|[{}[\\]]/g': 'valid JSON, in which every string is closed',
  '/"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"|-?\\d[\\d.eE+-]*/g': 'valid JSON, in which every string is closed',
  '/[:.\\s]+$/': 'errors of programs',
  '/(?<![\\d.])(\\d*)\\.?(\\d*)(h|ms|m|s|us|µs|μs|ns)/g': 'durations of at most 1000 characters',
};

const patterns = new Map(
  sources('src', 'controllers', 'informers').flatMap(({path, patterns: found}) => found.map(pattern => [pattern, path] as const)),
);

test('no regular expression takes longer than its text, whatever it holds', t => {
  t.true(patterns.size > 300, String(patterns.size));
  const slow: Record<string, string> = {};
  for (const [pattern, path] of patterns) {
    const end = pattern.lastIndexOf('/');
    const [source, flags] = [pattern.slice(1, end), pattern.slice(end + 1)];
    if (!/[*+]|\{\d*,/.test(source)) continue;
    const text = hostileText(new RegExp(source, flags));
    if (text !== undefined) slow[pattern] = `${path}: ${JSON.stringify(text.slice(0, 12))}`;
  }

  t.deepEqual(
    Object.keys(accepted).filter(pattern => !patterns.has(pattern)),
    [],
  );
  t.deepEqual(
    Object.entries(slow).filter(([pattern]) => !(pattern in accepted)),
    [],
  );
});
