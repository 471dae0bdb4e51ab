import {Lru} from '#src/base/lru.js';
import type {Library} from './declarations.js';
import {emptyEnvironment, extend, type Environment} from './environment.js';
import {lists} from './libraries/lists.js';
import {optionals} from './libraries/optionals.js';
import {sets} from './libraries/sets.js';
import {strings} from './libraries/strings.js';
import {twoVariables} from './libraries/two-variables.js';
import {standard} from './standard/index.js';

/** From which minor release on, and up to which, expressions can use a library. A library that is not said to be new was always there. */
interface Provision {
  readonly library: Library;
  readonly since?: number;
  readonly before?: number;
}

/** The libraries of the original's releases, in its order. */
const provisions: readonly Provision[] = [
  {library: standard},
  {library: optionals, since: 28},
  {library: strings(0), before: 29},
  {library: strings(2), since: 29},
  {library: sets, since: 29},
  {library: twoVariables, since: 32},
  {library: lists, since: 34},
];

const environments = new Lru<number, Environment>(8);

/**
 * What expressions may use in the minor release of the original: the libraries, but no variables. Expressions that are written are read with
 * the release before the server's, so that it can still read them; those that are stored with its own.
 */
export const releaseEnvironment = (minor: number): Environment => {
  const known = environments.get(minor);
  if (known) return known;
  const libraries = provisions.filter(({since = 0, before = Number.POSITIVE_INFINITY}) => minor >= since && minor < before).map(({library}) => library);
  const environment = extend(emptyEnvironment, {libraries, homogeneous: true, looksAtLiterals: minor >= 29});
  environments.set(minor, environment);
  return environment;
};

/** The release whose libraries new expressions may use: the one before that which is served. */
export const newExpressions = 34;

/** The release whose libraries expressions that are stored already may use. */
export const storedExpressions = 35;
