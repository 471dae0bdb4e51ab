import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {parseAllDocuments} from 'yaml';
import * as door from '#src/operator/index.js';
import {managerFlags} from '#src/operator/program/flags.js';

const pages = ['docs/operator.md', 'docs/operator-reference.md', 'docs/operator-from.md'];
const page = pages.map(path => readFileSync(path, 'utf8')).join('\n');
const blocksOf = (language: string): readonly string[] =>
  [...page.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].filter(([, found]) => found === language).map(([, , text = '']) => text);

/** Code without its indentation: a block may be a part of a function. */
const flush = (text: string): string =>
  text
    .split('\n')
    .map(line => line.trim())
    .filter(Boolean)
    .join('\n');

test('every block of TypeScript of the pages on operators is a part of code that is compiled', t => {
  const sources = ['test/docs/guide', 'examples/labels', 'examples/cronjobs'].flatMap(folder =>
    readdirSync(folder)
      .filter(file => file.endsWith('.ts'))
      .map(file => flush(readFileSync(join(folder, file), 'utf8'))),
  );
  const blocks = blocksOf('ts');
  t.true(blocks.length >= 14);
  t.deepEqual(
    blocks.filter(block => !sources.some(source => source.includes(flush(block)))),
    [],
  );
});

test('the manifests of the pages on operators are YAML, and their table names every flag of a program', t => {
  const kinds = blocksOf('yaml').flatMap(text => parseAllDocuments(text).map(document => (document.toJS() as {kind: string}).kind));
  t.deepEqual(kinds, ['Deployment', 'Service']);
  const election = /`--leader-elect`, .*/.exec(page)?.[0] ?? '';
  const named = (flag: string): boolean =>
    page.includes(`\`--${flag}\``) || page.includes(`\`-${flag}\``) || election.includes(`\`-${flag.replace('leader-elect-', '')}\``);
  t.deepEqual(
    Object.keys(managerFlags('', '').rows).filter(flag => !named(flag)),
    ['naming', 'help'],
  );
});

test('docs/operator-reference.md has an example for each function that @platio/plat/operator exports', t => {
  const code = blocksOf('ts').join('\n');
  t.deepEqual(
    Object.keys(door).filter(name => !new RegExp(`\\b${name}\\b`).test(code)),
    [],
  );
});

test('links between the pages on operators lead to headings', t => {
  const anchorsOf = (path: string) =>
    [...readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
  const broken = pages.flatMap(path =>
    [...readFileSync(path, 'utf8').matchAll(/\]\((operator[\w-]*\.md)?#([\w-]+)\)/g)]
      .filter(([, file, anchor = '']) => !anchorsOf(file ? `docs/${file}` : path).includes(anchor))
      .map(([link]) => `${path}: ${link}`),
  );
  t.deepEqual(broken, []);
});
