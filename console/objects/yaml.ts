// Writes an object as YAML, and remembers which field each line belongs to.

import {hasHidden, visible} from '#page/base/visible.js';

export interface YamlLine {
  readonly text: string;
  /** The field: the names and places on the way to it, as JSON. */
  readonly path: string;
}

type Path = readonly (string | number)[];

const plain = /^[A-Za-z_/][\w\-./+]*( [\w\-./+]+)*$/;
const words = /^(?:true|false|null|yes|no|on|off|y|n|~)$/i;

/** Texts that no reader of YAML takes for something else are written as they are. */
const scalarText = (value: unknown): string => {
  if (typeof value !== 'string') return JSON.stringify(value) ?? 'null';
  return plain.test(value) && !words.test(value) ? value : visible(JSON.stringify(value));
};

const isBlock = (value: unknown): value is string =>
  typeof value === 'string' &&
  value.includes('\n') &&
  !value.includes('\t') &&
  !hasHidden(value) &&
  !/^[ \n]/.test(value) &&
  !/[ ]$/m.test(value);

const isFilled = (value: unknown): value is object => typeof value === 'object' && value !== null && Object.keys(value).length > 0;

export const yamlLines = (object: unknown): YamlLine[] => {
  const lines: YamlLine[] = [];
  const put = (text: string, path: Path): void => void lines.push({text, path: JSON.stringify(path)});

  const scalar = (lead: string, value: unknown, indent: string, path: Path): void => {
    if (!isBlock(value))
      return put(
        `${lead}${isFilled(value) ? '' : Array.isArray(value) ? '[]' : typeof value === 'object' && value !== null ? '{}' : scalarText(value)}`,
        path,
      );
    const end = value.length - value.trimEnd().length;
    put(`${lead}|${end === 0 ? '-' : end === 1 ? '' : '+'}`, path);
    const parts = value.split('\n');
    if (end > 0) parts.pop();
    for (const part of parts) put(part === '' ? '' : `${indent}${part}`, path);
  };

  const entries = (value: object, indent: string, first: string, path: Path): void => {
    let lead = first;
    for (const [key, each] of Object.entries(value)) {
      const at = [...path, key];
      const name = `${lead}${scalarText(key)}:`;
      if (!isFilled(each)) scalar(`${name} `, each, `${indent}  `, at);
      else if (Array.isArray(each)) {
        put(name, at);
        items(each, indent, at);
      } else {
        put(name, at);
        entries(each, `${indent}  `, `${indent}  `, at);
      }
      lead = indent;
    }
  };

  const items = (list: readonly unknown[], indent: string, path: Path): void => {
    for (const [index, each] of list.entries()) {
      const at = [...path, index];
      if (!isFilled(each)) scalar(`${indent}- `, each, `${indent}  `, at);
      else if (Array.isArray(each)) {
        put(`${indent}-`, at);
        items(each, `${indent}  `, at);
      } else entries(each, `${indent}  `, `${indent}- `, at);
    }
  };

  if (isFilled(object) && !Array.isArray(object)) entries(object, '', '', []);
  else scalar('', object, '', []);
  return lines;
};

export const yamlText = (object: unknown): string =>
  yamlLines(object)
    .map(({text}) => `${text}\n`)
    .join('');
