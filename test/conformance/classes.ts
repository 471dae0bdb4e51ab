// The conformance tests of the original's suite, by what they need of a cluster. The lists are files with a name a
// line, as `e2e.test --list-conformance-tests` prints them (codename).

import {readFileSync} from 'node:fs';
import {join} from 'node:path';

export const classNames = ['A', 'B', 'C', 'D', 'E'] as const;
export type ClassName = (typeof classNames)[number];

/** What the tests of a class need. */
export const needsOf: Readonly<Record<ClassName, string>> = {
  A: 'API server and controllers',
  B: 'nodes and pods as agents report them',
  C: 'real containers',
  D: 'pod network and services',
  E: 'webhooks and API servers in pods',
};

/** The names of the tests of a class, sorted. */
export const testsOf = (name: ClassName): readonly string[] =>
  readFileSync(join('test/conformance/classes', `${name.toLowerCase()}.txt`), 'utf8')
    .trimEnd()
    .split('\n');

/** Reads a list of classes, as A,B. Throws in words. */
export const classesOf = (text: string): readonly ClassName[] => {
  const wanted = text.toUpperCase().split(',').filter(Boolean);
  const unknown = wanted.filter(name => !classNames.includes(name as ClassName));
  if (wanted.length === 0 || unknown.length > 0)
    throw new Error(
      `CLASSES is a list of ${classNames.join(', ')}, as CLASSES=A,B${unknown.length > 0 ? `, not ${unknown.join(', ')}` : ''}`,
    );
  return classNames.filter(name => wanted.includes(name));
};
