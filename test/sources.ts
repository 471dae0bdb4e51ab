import {readdirSync, readFileSync} from 'node:fs';
import {join, posix, relative} from 'node:path';
import {fileURLToPath} from 'node:url';

/** The project's root: tests run from `dist/test`. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

/** One import or re-export of a module. */
export interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
  /** Loaded when first needed. */
  readonly lazy: boolean;
}

/** A file of the project's TypeScript. */
export interface Source {
  /** From the root, with slashes. */
  readonly path: string;
  readonly text: string;
  /** The text without comments; line breaks stay. */
  readonly code: string;
  /** What stands in string and template literals. */
  readonly literals: readonly string[];
  /** The regular expressions, with their flags. */
  readonly patterns: readonly string[];
  readonly imports: readonly Import[];
}

const files = (folder: string): string[] =>
  readdirSync(join(root, folder), {withFileTypes: true}).flatMap(entry => {
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) return files(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });

/** After one of these a slash begins a regular expression. */
const beforePattern = /(?:^|[(,=:[!&|?{};<>+\-*%~^]|=>|\breturn|\btypeof|\bcase)\s*$/;

interface Lexed {
  readonly code: string;
  /** The code without what stands in templates, which may be code of others. */
  readonly own: string;
  readonly literals: readonly string[];
  readonly patterns: readonly string[];
}

/** Parts comments from code and picks out literals. Made for this project's style, not for every program. */
export const lex = (text: string): Lexed => {
  const literals: string[] = [];
  const patterns: string[] = [];
  let code = '';
  /** Where templates stand in the code. */
  const texts: (readonly [from: number, to: number])[] = [];
  let at = 0;
  /** For each template that is open: how deep the braces were when it was. */
  const templates: number[] = [];
  let depth = 0;

  const template = () => {
    let literal = '';
    for (; at < text.length; at++) {
      const character = text[at]!;
      if (character === '\\') literal += character + (text[++at] ?? '');
      else if (character === '`') {
        at++;
        templates.pop();
        break;
      } else if (character === '$' && text[at + 1] === '{') {
        at += 2;
        depth++;
        break;
      } else literal += character;
    }
    literals.push(literal);
    texts.push([code.length, code.length + literal.length]);
    code += literal;
  };
  const quoted = (quote: string) => {
    const start = ++at;
    while (at < text.length && text[at] !== quote && text[at] !== '\n') at += text[at] === '\\' ? 2 : 1;
    literals.push(text.slice(start, at));
    code += quote + text.slice(start, at++) + quote;
  };
  const pattern = () => {
    const start = at;
    let inClass = false;
    for (at++; at < text.length && text[at] !== '\n'; at++) {
      const character = text[at];
      if (character === '\\') at++;
      else if (character === '[') inClass = true;
      else if (character === ']') inClass = false;
      else if (character === '/' && !inClass) break;
    }
    code += text.slice(start, ++at);
    patterns.push(text.slice(start, at) + (/^[a-z]*/.exec(text.slice(at, at + 8))?.[0] ?? ''));
  };

  while (at < text.length) {
    const character = text[at]!;
    const next = text[at + 1];
    if (character === '/' && next === '/') at = text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at);
    else if (character === '/' && next === '*') {
      const end = text.indexOf('*/', at + 2);
      code += text.slice(at, end).replaceAll(/[^\n]/g, '');
      at = end + 2;
    } else if (character === "'" || character === '"') quoted(character);
    else if (character === '`') {
      at++;
      templates.push(depth);
      template();
    } else if (character === '/' && beforePattern.test(code)) pattern();
    else if (character === '}' && templates.length > 0 && depth - 1 === templates.at(-1)) {
      at++;
      depth--;
      template();
    } else {
      if (character === '{') depth++;
      if (character === '}') depth--;
      code += character;
      at++;
    }
  }
  const own = texts.reduceRight(
    (left, [from, to]) => `${left.slice(0, from)}${left.slice(from, to).replaceAll(/[^\n]/g, ' ')}${left.slice(to)}`,
    code,
  );
  return {code, own, literals, patterns};
};

const importsOf = (code: string): Import[] => {
  const found: Import[] = [];
  for (const [, what = '', specifier = ''] of code.matchAll(/^(?:import|export)\s+([^'"()]*?\s+from\s+)?['"]([^'"\n]+)['"];/gm)) {
    const names = /^\{([^}]*)\}/.exec(what.trim())?.[1];
    const allTypes =
      names !== undefined && names.trim() !== '' && names.split(',').every(name => name.trim() === '' || /^type\s/.test(name.trim()));
    found.push({specifier, typeOnly: /^type\s/.test(what.trim()) || allTypes, lazy: false});
  }
  for (const [, specifier = ''] of code.matchAll(/\bimport\(\s*['"]([^'"]+)['"]\s*\)/g))
    found.push({specifier, typeOnly: false, lazy: true});
  return found;
};

/** Every TypeScript file below the folders given. */
export const sources = (...folders: readonly string[]): Source[] =>
  folders.flatMap(files).map(path => {
    const text = readFileSync(join(root, path), 'utf8');
    const {code, own, literals, patterns} = lex(text);
    return {path, text, code, literals, patterns, imports: importsOf(own)};
  });

/** The file that an import of ours stands for, from the root; undefined for packages. */
export const target = (from: string, specifier: string): string | undefined => {
  const source = (path: string) => path.replace(/\.js$/, '.ts');
  if (specifier.startsWith('#')) return source(specifier.slice(1));
  if (specifier.startsWith('.')) return source(relative(root, join(root, posix.dirname(from), specifier)).replaceAll('\\', '/'));
  return undefined;
};
