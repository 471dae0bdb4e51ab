// Writes the package's type declarations to dist/types: those of the public modules with relative imports, and the
// types of Kubernetes objects as they are on the wire, from the models of @kubernetes/client-node. Users need neither
// that library nor rxjs for them.
import {copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {dirname, join, posix} from 'node:path';

const target = 'dist/types';
const models = 'node_modules/@kubernetes/client-node/dist/gen/models';

/** The output files by path. */
const files = new Map();

/** Models to be written; models that they refer to are added later. */
const named = new Set();

const relative = (from, to) => posix.relative(dirname(from), to).replace(/^(?!\.)/, './');

/** Returns the target of an import; undefined for an import that is not rewritten. */
const leadsTo = (specifier, from) => {
  if (specifier === '@kubernetes/client-node') return 'api/models.js';
  if (specifier === 'rxjs') return 'observable.js';
  if (specifier.startsWith('#src/')) return specifier.slice('#src/'.length);
  if (specifier.startsWith('#informers/')) return specifier.slice(1);
  if (specifier.startsWith('.')) return posix.join(dirname(from), specifier);
  throw new Error(`the public types need the package ${specifier} (${from})`);
};

/** Returns `{name: type}` for all built-in kinds, with every type expanded field by field. */
const kindRows = () =>
  [...readFileSync('src/api/kinds/index.ts', 'utf8').matchAll(/from '\.\/([\w-]+)\.js'/g)].flatMap(([, group]) =>
    [...readFileSync(`src/api/kinds/${group}.ts`, 'utf8').matchAll(/^  (\w+): (?:\{\.\.\.)?kind<([^(]+)>\(/gm)].map(([, name, type]) => {
      const path = /^\w+$/.test(type) ? `import('./${group}.js').` : '';
      return `    readonly ${name}: Kind<${path}${type.replace(/^types\./, "import('../types.js').")}>;`;
    }),
  );

/** Returns the declaration of all kinds with the types by name. */
const withNames = text => {
  const rows = kindRows();
  const declared = /export declare const kinds: \{\n([^]*?)\n\};/.exec(text)?.[1] ?? '';
  const inline = [...declared.matchAll(/^    readonly (\w+):/gm)].length;
  if (inline !== rows.length) throw new Error(`src/api/kinds has ${rows.length} kinds, and the compiler found ${inline}`);
  return `import type * as upstream from '@kubernetes/client-node';\n${text.replace(declared, () => rows.join('\n'))}`;
};

/** Copies a module and its imports. */
const take = path => {
  const file = path.replace(/\.js$/, '.d.ts');
  if (files.has(file)) return;
  files.set(file, '');
  let text = readFileSync(join(file.startsWith('informers/') ? 'dist' : 'dist/src', file), 'utf8');
  if (file === 'api/kinds/index.d.ts') text = withNames(text);
  text = text.replaceAll(/Wire<upstream\.(\w+)>/g, (_, name) => {
    named.add(name);
    return `upstream.${name}`;
  });
  const open = [];
  text = text.replaceAll(/(^(?:import|export) [^'"\n]*from |import\()(['"])([^'"]+)\2/gm, (_, how, quote, specifier) => {
    const found = leadsTo(specifier, file);
    if (!['api/models.js', 'observable.js'].includes(found)) open.push(found);
    return `${how}${quote}${relative(file, found)}${quote}`;
  });
  files.set(file, text);
  for (const each of open) take(each);
};

/**
 * Returns a declaration with its descriptions in one line each, without backslashes before quotes, and with short
 * indents.
 */
const compact = text =>
  text
    .replaceAll(/^( *)\/\*\*\n *\* ?(.*)\n *\*\/$/gm, (comment, indent, words) => `${indent}/** ${words.replaceAll(/\\(['"])/g, '$1')} */`)
    .replaceAll(/^(?: {4})+/gm, indent => ' '.repeat(indent.length / 2));

/** What every kind says of its two first fields. */
const ofEveryKind = /^ *\/\*\* (?:APIVersion defines the versioned schema|Kind is a string value representing) [^\n]*\*\/\n/gm;

/** The most characters of a description. */
const longest = 700;

/**
 * Leaves out what takes more of the package than it tells: descriptions of alpha and beta versions, whose types are
 * mostly those of the stable one, those of `apiVersion` and `kind`, and what long ones say after some sentences.
 */
const described = (name, text) =>
  text
    .replaceAll(/V\d+(?:alpha|beta)\d+/.test(name) ? /^ *\/\*\*[^\n]*\*\/\n/gm : ofEveryKind, '')
    .replaceAll(/^( *\/\*\* )([^\n]*)( \*\/)$/gm, (comment, start, words, end) => {
      if (words.length <= longest) return comment;
      const sentences = words.slice(0, longest).lastIndexOf('. ') + 1;
      return `${start}${words.slice(0, sentences || longest)}${end}`;
    });

/**
 * Returns a model as an interface of its wire form: dates are strings, and fields have no underscore before reserved
 * words.
 */
const wireModel = name => {
  const text = readFileSync(join(models, `${name}.d.ts`), 'utf8');
  for (const [, other] of text.matchAll(/from '\.\.\/models\/(\w+)\.js'/g)) named.add(other);
  const declaration = /(?:\/\*\*\n(?:\*[^\n]*\n)+\*\/\n)?export declare class [^]*?(?=    static )/.exec(text)?.[0];
  if (!declaration) throw new Error(`the model ${name} cannot be read`);
  return `${described(name, compact(declaration))
    .replace('export declare class', 'export interface')
    .replaceAll(/^  '_(\w+)'/gm, "  '$1'")
    .replaceAll(/^(  '\w+'\??: .*?)\b(?:Date|V1MicroTime)\b/gm, '$1string')
    .replaceAll(/^(  '\w+'\??: .*?)\bIntOrString\b/gm, '$1number | string')}}\n`;
};

/** The public modules, by the names of their declarations. */
const doors = {index: 'plane/index.js', operator: 'operator/index.js', 'operator-kinds': 'operator/kinds.js', testing: 'testing/index.js'};

for (const path of Object.values(doors)) take(path);
const texts = [];
for (const name of named) texts.push(wireModel(name)); // Models added during the loop are written last.

rmSync(target, {recursive: true, force: true});
const write = (file, text) => {
  mkdirSync(dirname(join(target, file)), {recursive: true});
  writeFileSync(join(target, file), text);
};
for (const [file, text] of files) write(file, text);
write('api/models.d.ts', texts.join('\n'));
copyFileSync('tools/observable.d.ts', join(target, 'observable.d.ts'));
write('package.json', '{"type": "commonjs"}\n'); // The bundle is a CommonJS script.
for (const [door, path] of Object.entries(doors))
  write(
    `${door}.d.ts`,
    `/// <reference lib="esnext.disposable" />
export * from './${path}';
${door === 'index' ? "export type * from './api/models.js';\nexport type * from './observable.js';\n" : ''}
declare global {
  /** Declared by the types of Node.js and of browsers. */
  interface AbortSignal {}
}
`,
  );
