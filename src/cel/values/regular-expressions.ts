// Regular expressions of CEL. What compiling and matching takes counts as work; where that is much, a match is looked
// for in steps.

import type {Steps} from '#src/base/steps.js';
import {knownRegexp, regexp, regexpError, type Regexp} from '#src/schema/regexp.js';
import {Failure, type Value} from './values.js';
import {spend, workSoFar} from './work.js';

/** Compiling an instruction takes as long as comparing so many elements. */
const workOfInstruction = 50;

/** Returns the compiled pattern, or the error of an invalid one as Go words it. */
const compiled = (pattern: string): Regexp | {readonly error: string} => {
  const known = knownRegexp(pattern);
  if (known) return known;
  const error = regexpError(pattern);
  if (error !== undefined) return {error};
  const made = regexp(pattern);
  spend(workOfInstruction * made.size);
  return made;
};

const workOfStep = 10_000;

const compiledInSteps = function* (pattern: string): Steps<Regexp | {readonly error: string}> {
  const made = compiled(pattern);
  if (workSoFar() > workOfStep) yield;
  return made;
};

/** The most that a match takes: each character may take each instruction. */
const workOf = ({size}: Regexp, length: number): number => size * (length + 1);

/** Returns whether the text contains a match. Runs in time linear in the text's length. */
export const matches = (text: string, pattern: string): Value => {
  const made = compiled(pattern);
  if ('error' in made) return new Failure(made.error);
  spend(workOf(made, text.length));
  return made.test(text);
};

/** As `matches`, in steps where it may take long. */
export const matchesInSteps = function* (text: string, pattern: string): Steps<Value> {
  const made = yield* compiledInSteps(pattern);
  if ('error' in made) return new Failure(made.error);
  const work = workOf(made, text.length);
  if (work > workOfStep) return (yield* made.search(text, spend).find(0)) !== undefined;
  spend(work);
  return made.test(text);
};

/** Matches up to a limit, all if it is negative, or the error of an invalid pattern. */
export type Matches = readonly string[] | {readonly error: string};

/** Returns up to `most` matches. An empty match directly after another match is skipped. */
export const allMatches = (text: string, pattern: string, most: number): Matches => {
  const made = compiled(pattern);
  if ('error' in made) return made;
  const matcher = made.matcher(text);
  const found: string[] = [];
  spend(workOf(made, text.length));
  for (let before = -1; found.length !== most && matcher.find(); before = matcher.end()) {
    const [start, end] = [matcher.start(), matcher.end()];
    if (start !== end || start !== before) found.push(text.slice(start, end));
    spend(workOf(made, text.length - end));
  }
  return found;
};

/** As `allMatches`, in steps. */
export const allMatchesInSteps = function* (text: string, pattern: string, most: number): Steps<Matches> {
  const made = yield* compiledInSteps(pattern);
  if ('error' in made) return made;
  const found: string[] = [];
  const search = made.search(text, spend);
  for (let from = 0, before = -1; found.length !== most && from <= text.length;) {
    const match = yield* search.find(from);
    if (!match) break;
    const {start, end} = match;
    if (start !== end || start !== before) found.push(text.slice(start, end));
    before = end;
    from = start === end ? end + widthAt(text, end) : end;
    if (workSoFar() > workOfStep) yield;
  }
  return found;
};

const widthAt = (text: string, at: number): number => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
