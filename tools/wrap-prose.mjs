// Wraps the prose of comments and Markdown at 120 columns: `--check` lists the files that would change, without it they
// are written. Tables, code, diagrams, headings and directives stay as they are, and so does a paragraph none of whose
// lines is longer.
import {execFileSync} from 'node:child_process';
import {readFileSync, writeFileSync} from 'node:fs';

const width = 120;

/** A line that begins so would be read as something else than the paragraph that it continues. */
const opensBlock = /^(?:[-+*>|=]+|#+|\d+[.)]|```.*|@\w.*|<\S*)$/;

/** Breaks text into lines. `first` and `rest` precede the first line and the others. */
const wrapped = (text, first, rest) => {
  const lines = [];
  let line = '';
  let lead = first;
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const fits = lead.length + line.length + 1 + word.length <= width;
    if (line === '' || fits || opensBlock.test(word)) line += (line === '' ? '' : ' ') + word;
    else {
      lines.push(lead + line);
      lead = rest;
      line = word;
    }
  }
  return [...lines, lead + line];
};

const isLong = lines => lines.some(line => line.length > width);

/** Wraps one paragraph: lines without what precedes them, and what precedes the first and the others. */
const paragraph = (original, texts, first, rest) => (isLong(original) ? wrapped(texts.join(' '), first, rest) : original);

/** Markdown: paragraphs, items of lists and quotations. */
export const wrapMarkdown = text => {
  const out = [];
  let open;
  const close = () => {
    if (open) out.push(...paragraph(open.lines, open.texts, open.first, open.rest));
    open = undefined;
  };
  let fence = '';
  for (const line of text.split('\n')) {
    const [, mark] = /^\s*(?:[-*+]\s+|\d+[.)]\s+)?(```+|~~~+)/.exec(line) ?? [];
    if (fence || mark) {
      close();
      if (!fence) fence = mark;
      else if (mark?.startsWith(fence)) fence = '';
      out.push(line);
      continue;
    }
    const [, lead = '', item = '', rest = ''] = /^((?:> ?)*\s*)([-*+]\s+|\d+[.)]\s+)?(.*)$/.exec(line);
    const isProse = rest !== '' && !/^(?:\||#|<|\[[^\]]+\]:|\*\*\*|---|===|!\[)/.test(rest);
    const isCode = !open && item === '' && /^ {4}/.test(lead);
    if (!isProse || isCode) {
      close();
      out.push(line);
      continue;
    }
    if (open && item === '') {
      open.lines.push(line);
      open.texts.push(rest);
    } else {
      close();
      open = {lines: [line], texts: [rest], first: lead + item, rest: lead + ' '.repeat(item.length)};
    }
    // Two blanks or a backslash at the end break the line.
    if (/(?: {2}|\\)$/.test(line)) {
      const {lines} = open;
      open = undefined;
      out.push(...lines);
    }
  }
  close();
  return out.join('\n');
};

/** The lines of a source that are within a template literal or a block of code: comments there are not ours. */
const literalLines = text => {
  const inside = new Set();
  let line = 0;
  let state = 'code';
  const templates = [];
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const [here, two] = [text[at], text.slice(at, at + 2)];
    if (here === '\n') {
      line++;
      if (state === 'line') state = 'code';
      if (state === 'template') inside.add(line);
    } else if (state === 'line') continue;
    else if (state === 'block') {
      if (two === '*/') {
        state = 'code';
        at++;
      }
    } else if (state === 'template') {
      if (here === '\\') at++;
      else if (here === '`') state = templates.pop() ?? 'code';
      else if (two === '${') {
        templates.push('template');
        state = 'code';
        depth = 0;
        at++;
      }
    } else if (two === '//' && !/[:'"`\\[/(]$/.test(text.slice(Math.max(0, at - 1), at))) state = 'line';
    else if (two === '/*' && /(?:^|\s)$/.test(text.slice(Math.max(0, at - 1), at))) state = 'block';
    else if (here === "'" || here === '"') {
      const end = text.indexOf('\n', at);
      let to = at + 1;
      while (to < (end < 0 ? text.length : end) && text[to] !== here) to += text[to] === '\\' ? 2 : 1;
      if (text[to] === here) at = to;
    } else if (here === '`') {
      templates.push('code');
      state = 'template';
    } else if (templates.at(-1) === 'template') {
      if (here === '{') depth++;
      else if (here === '}' && depth-- === 0) state = templates.pop();
    }
  }
  return inside;
};

/** Comments of sources that have lines of their own. */
export const wrapComments = text => {
  const lines = text.split('\n');
  const inside = literalLines(text);
  const out = [];
  let open;
  const close = () => {
    if (open) out.push(...paragraph(open.lines, open.texts, open.first, open.rest));
    open = undefined;
  };
  let isBlock = false;
  for (const [index, line] of lines.entries()) {
    const [, indent, mark, gap, rest] = /^(\s*)(\/\/|\/\*\*?|\*)(\s*)(.*)$/.exec(line) ?? [];
    const startsBlock = mark?.startsWith('/*');
    const isComment = mark !== undefined && !inside.has(index) && (mark === '//' || startsBlock || isBlock);
    if (startsBlock && !inside.has(index)) isBlock = !line.includes('*/');
    else if (isBlock && line.includes('*/')) isBlock = false;
    if (!isComment || rest === '' || rest === '/' || rest === '*/') {
      close();
      out.push(line);
      continue;
    }
    if (startsBlock && rest.endsWith('*/')) {
      close();
      out.push(...oneLiner(line, indent, rest));
      continue;
    }
    const isItem = /^(?:[-*]|\d+\.)\s/.test(rest);
    const isFixed =
      gap.length > 3 || /^(?:@|oxlint|eslint|prettier|<|\||```)|[│└┌─┐┘├┤▶▼▲◀]| {3,}\S/.test(rest) || startsBlock || rest.includes('*/');
    if (isFixed) {
      close();
      out.push(line);
      continue;
    }
    const lead = `${indent}${mark}${gap}`;
    if (open && open.lead === lead && !isItem) {
      open.lines.push(line);
      open.texts.push(rest);
    } else if (open && !isItem && lead.length > open.lead.length && open.isItem) {
      open.lines.push(line);
      open.texts.push(rest);
    } else {
      close();
      const [marker = ''] = isItem ? /^(?:[-*]|\d+\.)\s+/.exec(rest) : [];
      open = {
        lead,
        isItem,
        lines: [line],
        texts: [rest.slice(marker.length)],
        first: lead + marker,
        rest: lead + ' '.repeat(marker.length),
      };
    }
  }
  close();
  return out.join('\n');
};

/** A comment of one line becomes a block where it is too long. */
const oneLiner = (line, indent, rest) => {
  if (line.length <= width || !line.trimStart().startsWith('/**')) return [line];
  const text = rest.slice(0, -2).trim();
  return [`${indent}/**`, ...wrapped(text, `${indent} * `, `${indent} * `), `${indent} */`];
};

const listed = (...patterns) =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...patterns], {encoding: 'utf8'})
    .split('\n')
    .filter(Boolean);

const kinds = [
  {files: () => listed('*.md').filter(file => !/^test\/|(?:^|\/)(?:flags|controllers)\.md$/.test(file)), wrap: wrapMarkdown},
  {files: () => listed('*.ts', '*.mjs', '*.cjs').filter(file => !file.endsWith('.d.ts')), wrap: wrapComments},
];

const isCheck = process.argv.includes('--check');
const changed = kinds.flatMap(({files, wrap}) =>
  files().filter(file => {
    const text = readFileSync(file, 'utf8');
    const better = wrap(text);
    if (better === text) return false;
    if (!isCheck) writeFileSync(file, better);
    return true;
  }),
);
if (isCheck && changed.length > 0) {
  console.error(`the prose of these files is not wrapped at ${width} columns; run \`make format\`:\n${changed.join('\n')}`);
  process.exitCode = 1;
}
