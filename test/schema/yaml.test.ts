import test from 'ava';
import {parseYaml} from '#src/schema/decode/yaml.js';
import {canonicalJson} from '#src/base/json/canonical-json.js';
import {parseJson} from '#src/base/json/json.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import {documents, numbers, scalars, strings} from './yaml-original.js';

/** The JSON that a text is read as, with keys in order; its error, or that of strict decoding. */
const readAs = (text: string): {json?: string; error?: string} => {
  try {
    const {value, problems} = parseYaml(text);
    return {
      json: canonicalJson(value),
      ...(problems.length > 0 ? {error: `yaml: unmarshal errors:\n${problems.map(problem => `  ${problem.text}`).join('\n')}`} : {}),
    };
  } catch (error) {
    return {error: (error as Error).message};
  }
};

const tricky = [
  'yes',
  'No',
  'on',
  'null',
  '~',
  '',
  ' ',
  '012',
  '0x1f',
  '1e3',
  '1_000',
  '1:30',
  '.5',
  '-',
  '- a',
  'a: b',
  '# a',
  'a #b',
  '&a',
  '*a',
  '!a',
  '|',
  '>',
  '%',
  '@',
  '`',
  '"',
  "'",
  '{',
  '[',
  ',',
  '?',
  '=',
  '<<',
  '2026-01-02',
  'a\nb',
  'a\nb\n\n',
  '\ta',
  'ü\u{1f600}',
  '\u0007',
  'x'.repeat(200),
  'x'.repeat(3000),
  `${'word '.repeat(60)}`,
];

const long = 'words of a text '.repeat(8).trim();
for (const [title, text, expected] of [
  ['an indicator is in single quotes', '*/5 * * * *', "v: '*/5 * * * *'"],
  ['a quote within single quotes is doubled', "*it's", "v: '*it''s'"],
  ['what may be read as a number is in double quotes', '1e3', 'v: "1e3"'],
  ['a word that is no boolean stays plain', 'nO', 'v: nO'],
  ['an expression stays plain', 'a.b == "c"', 'v: a.b == "c"'],
  ['a long text is folded', long, `v: ${long.slice(0, 79)}\n  ${long.slice(80)}`],
  ['a long quoted text is folded', `'${long}`, `v: '''${long.slice(0, 79)}\n  ${long.slice(80)}'`],
  ['lines are literal, without folding', `${long}\n b\n`, `v: |\n  ${long}\n   b`],
  ['lines that begin with a space state their indentation', ' a\nb', 'v: |2-\n   a\n  b'],
  ['a tab is escaped', 'a\tb\nc', 'v: "a\\tb\\nc"'],
  ['a character beyond the basic plane is escaped', '\u{1f600}', 'v: "\\U0001F600"'],
] as const) {
  test(`YAML of the original's style: ${title}`, t => {
    t.is(yamlText({v: text}), `${expected}\n`);
    t.deepEqual(parseYaml(yamlText({v: text, list: [text, {[text]: text}]})).value, {v: text, list: [text, {[text]: text}]});
  });
}

test('strings that YAML could read as another type are read as strings', t => {
  const object = {values: tricky, keys: Object.fromEntries(tricky.map(text => [text, text]))};

  t.deepEqual(parseYaml(yamlText(object)).value, object);
});

test('values of every shape are read back unchanged, at any depth', t => {
  const object = {
    a: [[], {}, [[1, [2]], {b: [{c: 'x\ny\n', d: null}], e: 'x\n  y\n\n'}], 'x\ny', -1.5, 1e21, true],
    f: {},
    g: [],
    ' h ': {'': ''},
  };
  t.deepEqual(parseYaml(yamlText(object)).value, object);

  let deep: unknown = {a: ['end']};
  for (let level = 0; level < 1000; level++) deep = level % 2 ? {a: deep} : [deep];
  t.regex(yamlText(deep), /- end\n$/);
});

test('keys are written in the order people give them', t => {
  const keys = ['', '-', '1', '2', '10', 'B', 'a', 'a.', 'a1', 'a2', 'a10', 'a010', 'aB', 'ab'];

  t.deepEqual(
    Object.keys(parseYaml(yamlText(Object.fromEntries(keys.toReversed().map(key => [`k${key}`, 1])))).value as object).map(key =>
      key.slice(1),
    ),
    keys,
  );
});

test('scalars have the types that they have for the original', t => {
  for (const [text, json, error] of scalars)
    t.deepEqual(readAs(`a: ${text}\n`), json === undefined ? {error: error!} : {json: canonicalJson(parseJson(`{"a":${json}}`))}, text);
});

test('keys, merges, aliases and repeated keys are read as by the original', t => {
  for (const [text, json, error] of documents)
    t.deepEqual(
      readAs(text),
      {...(json === undefined ? {} : {json: canonicalJson(parseJson(json))}), ...(error === undefined ? {} : {error})},
      text,
    );
});

test('strings are in quotes where they are for the original, and are read back', t => {
  for (const [text, yaml] of strings) {
    // A merge key in quotes is the one difference: the original cannot read what it writes.
    t.is(yamlText({a: text}), `a: ${text === '<<' ? '"<<"' : yaml}\n`);
    t.deepEqual(parseYaml(yamlText({[text]: [text]})).value, {[text]: [text]}, text);
  }
});

test('numbers are written as the original writes them', t => {
  for (const [json, yaml] of numbers) t.is(yamlText(parseJson(`{"a":${json}}`)), `a: ${yaml}\n`);
});
