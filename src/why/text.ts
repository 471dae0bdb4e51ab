import {humanDuration} from '#src/api/duration.js';
import {parseTime} from '#src/api/time.js';
import {printable} from '#src/base/text/printable.js';
import type {Explanation, Link} from './explain.js';

const objectText = ({object: {kind, namespace, name}}: Link): string => `${kind} ${namespace ? `${namespace}/` : ''}${name}`;

const sinceText = (since: string | undefined, now: number): string => {
  const at = parseTime(since);
  return at === undefined ? '' : `, since ${since} (${humanDuration(now - at)})`;
};

/**
 * Returns the lines of an explanation: the answer, the chain, what would end it, and what could not be looked at. Names
 * and messages are those of the objects, so what would move the cursor is escaped.
 */
export const linesOf = ({answer, ends, chain, notes}: Explanation, now: number): string[] => {
  const links = chain.flatMap((link, depth) => {
    const indent = '  '.repeat(depth);
    return [
      `${indent}${depth > 0 ? '└ ' : ''}${objectText(link)}: ${link.sentence}`,
      `${indent}    rule ${link.rule}${sinceText(link.since, now)}`,
      ...(link.details ?? []).map(line => `${indent}    ${line}`),
    ];
  });
  return [
    answer,
    ...(links.length > 0 ? ['', ...links] : []),
    ...(ends === undefined ? [] : ['', `What ends it: ${ends}`]),
    ...(notes.length > 0 ? ['', ...notes.map(note => `Not seen: ${note}.`)] : []),
  ].map(printable);
};
