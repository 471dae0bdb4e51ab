// Writes test/docs/api/*.txt: what the public modules of the package export, from their declarations in dist/types.
// `--check` compares instead, and prints what differs and which exports of @platio/plat/operator have no docstring.
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join, posix} from 'node:path';

const types = 'dist/types';
const target = 'test/docs/api';

/** The public modules: the name of the report, and the module that lists the exports. */
const doors = {plat: 'plane/index', operator: 'operator/index', 'operator-kinds': 'operator/kinds', testing: 'testing/index'};

/** Modules whose content is another project's, or follows from another table. */
const foreign = new Set(['api/models', 'observable']);

/** Returns the length of the string, comment or template that begins at `at`; 0 where there is none. */
const opaque = (text, at) => {
  const [, found = ''] =
    /^(\/\*[^]*?\*\/|\/\/[^\n]*|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`)/.exec(text.slice(at, at + 20_000)) ?? [];
  return found.length;
};

/** Returns the top-level statements of a declaration file, each with the docstring before it. */
const statementsOf = text => {
  const statements = [];
  let doc = '';
  let start = 0;
  let depth = 0;
  const end = at => {
    const statement = text.slice(start, at).trim();
    if (statement) {
      statements.push({text: statement, doc});
      doc = '';
    }
    start = at;
  };
  for (let at = 0; at < text.length;) {
    const skipped = opaque(text, at);
    if (skipped) {
      const part = text.slice(at, at + skipped);
      at += skipped;
      if (depth === 0 && part.startsWith('/*') && !text.slice(start, at - skipped).trim()) {
        doc = part;
        start = at;
      } else if (depth === 0 && part.startsWith('//') && !text.slice(start, at - skipped).trim()) start = at;
      continue;
    }
    const character = text[at++];
    if ('{(['.includes(character)) depth++;
    else if ('})]'.includes(character)) depth--;
    const isBlock =
      character === '}' &&
      /^\s*(?:export )?(?:declare )?(?:abstract )?(?:interface|class|namespace|module|global)\b/.test(text.slice(start, at));
    if (depth === 0 && (character === ';' || isBlock)) end(at);
  }
  end(text.length);
  return statements;
};

const modules = new Map();

/** Reads a module: its declarations by name, its imports, and what it exports. */
const moduleOf = path => {
  if (modules.has(path)) return modules.get(path);
  const module = {path, declared: new Map(), imported: new Map(), named: new Map(), all: []};
  modules.set(path, module);
  const resolve = specifier => posix.join(dirname(path), specifier.replace(/\.js$/, ''));
  const namesIn = list =>
    list
      .split(',')
      .map(each => each.trim().replace(/^type /, ''))
      .filter(Boolean)
      .map(each => each.split(/ as /).map(name => name.trim()));
  for (const {text, doc} of statementsOf(readFileSync(join(types, `${path}.d.ts`), 'utf8'))) {
    const [, keyword, list, from] = /^(import|export)(?: type)? \{([^}]*)\}(?: from ['"]([^'"]+)['"])?;?$/.exec(text) ?? [];
    if (keyword)
      for (const [name, as = name] of namesIn(list))
        module[keyword === 'import' ? 'imported' : 'named'].set(
          as,
          from?.startsWith('.') ? [resolve(from), name] : from ? undefined : [path, name],
        );
    const [, everything] = /^export (?:type )?\* from ['"]([^'"]+)['"]/.exec(text) ?? [];
    if (everything) module.all.push(resolve(everything));
    const [, isExported, name] =
      /^(export )?(?:declare )?(?:abstract )?(?:const|function|class|interface|type|let|enum) (\w+)/.exec(text) ?? [];
    if (!name) continue;
    const known = module.declared.get(name) ?? {texts: [], doc: ''};
    module.declared.set(name, {texts: [...known.texts, text], doc: known.doc || doc});
    if (isExported) module.named.set(name, [path, name]);
  }
  return module;
};

/** Returns where a name that a module exports is declared. */
const originOf = (path, name) => {
  if (foreign.has(path)) return undefined;
  const module = moduleOf(path);
  const [to, as] = module.named.get(name) ?? [];
  if (to === path) return module.declared.has(as) ? [path, as] : module.imported.has(as) ? originOf(...module.imported.get(as)) : undefined;
  if (to) return originOf(to, as);
  return module.all.map(each => originOf(each, name)).find(Boolean);
};

/** Returns the names that a module exports. */
const exportsOf = path => {
  if (foreign.has(path)) return [];
  const module = moduleOf(path);
  return [...new Set([...module.named.keys(), ...module.all.flatMap(exportsOf)])];
};

/** Returns declarations without comments, in one form. */
const plain = text => {
  let out = '';
  for (let at = 0; at < text.length;) {
    const skipped = opaque(text, at);
    const part = text.slice(at, at + (skipped || 1));
    if (!part.startsWith('/*') && !part.startsWith('//')) out += part;
    at += skipped || 1;
  }
  return out
    .replace(/^export /, '')
    .replace(/^declare /, '')
    .split('\n')
    .map(line => line.trimEnd())
    .filter(Boolean)
    .join('\n');
};

/** Returns the text of a report: the exports by name, and the declarations that they refer to. */
const reportOf = door => {
  const entries = exportsOf(door)
    .map(name => ({name, origin: originOf(door, name)}))
    .filter(({origin}) => origin)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const shown = new Set(entries.map(({origin}) => origin.join('#')));
  const queue = entries.map(({origin}) => origin);
  const inner = [];
  for (let origin = queue.shift(); origin; origin = queue.shift()) {
    const module = moduleOf(origin[0]);
    const text = module.declared.get(origin[1]).texts.map(plain).join('\n');
    for (const [word] of text.matchAll(/\b[A-Za-z_]\w*\b/g)) {
      const to = module.declared.has(word) ? [origin[0], word] : module.imported.get(word) && originOf(...module.imported.get(word));
      if (!to || shown.has(to.join('#'))) continue;
      shown.add(to.join('#'));
      inner.push(to);
      queue.push(to);
    }
  }
  const textOf = ([path, name]) => moduleOf(path).declared.get(name).texts.map(plain).join('\n');
  const undocumented = entries.filter(({origin: [path, name]}) => !moduleOf(path).declared.get(name).doc).map(({name}) => name);
  const aliases = ({name, origin}) => (name === origin[1] ? '' : `// exported as ${name}\n`);
  const own = entries.map(entry => `${aliases(entry)}${textOf(entry.origin)}`).join('\n\n');
  const behind = inner.map(textOf).sort().join('\n\n');
  return {text: `# exports\n\n${own}\n${behind ? `\n# what they refer to\n\n${behind}\n` : ''}`, undocumented};
};

const isCheck = process.argv.includes('--check');
const problems = [];
mkdirSync(target, {recursive: true});
for (const [name, path] of Object.entries(doors)) {
  const {text, undocumented} = reportOf(path);
  const file = join(target, `${name}.txt`);
  if (name === 'operator') problems.push(...undocumented.map(each => `@platio/plat/operator: ${each} has no docstring`));
  if (!isCheck) writeFileSync(file, text);
  else {
    const [before, after] = [readFileSync(file, 'utf8').split('\n'), text.split('\n')];
    const differs = [
      ...before.filter(line => !after.includes(line)).map(line => `${file}: - ${line}`),
      ...after.filter(line => !before.includes(line)).map(line => `${file}: + ${line}`),
    ];
    if (before.join('\n') !== text) problems.push(...(differs.length > 0 ? differs.slice(0, 20) : [`${file}: the order differs`]));
  }
}
for (const problem of problems) console.log(problem);
if (problems.length > 0) {
  console.log('run `make api` if the change of the public interface is intended');
  process.exitCode = 1;
}
