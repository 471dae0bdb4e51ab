// The base environments of Kubernetes' CEL: which libraries an expression may use. Every user of CEL in the API server
// extends one of these two environments by its variables.

import type {Library} from '#src/cel/check/declarations.js';
import {emptyEnvironment, extend, type Environment} from '#src/cel/check/environment.js';
import {lists as moreLists} from '#src/cel/libraries/lists.js';
import {optionals} from '#src/cel/libraries/optionals.js';
import {sets} from '#src/cel/libraries/sets.js';
import {strings} from '#src/cel/libraries/strings.js';
import {twoVariables} from '#src/cel/libraries/two-variables.js';
import {standard} from '#src/cel/standard/index.js';
import {cidrs, ips} from './addresses.js';
import {authorizer, authorizerSelectors} from './authorizer.js';
import {functionCosts} from './costs.js';
import {namedFormats} from './format.js';
import {lists} from './lists.js';
import {quantities} from './quantity.js';
import {regex} from './regex.js';
import {semvers} from './semver.js';
import {urls} from './url.js';

/** The minor release since which expressions may use a library. */
const libraryReleases: readonly (readonly [release: number, library: Library])[] = [
  [0, standard],
  [0, urls],
  [0, regex],
  [0, lists],
  [27, authorizer],
  [28, optionals],
  [28, quantities],
  [29, strings(2)],
  [29, sets],
  [30, ips],
  [30, cidrs],
  [31, namedFormats],
  [31, authorizerSelectors],
  [32, twoVariables],
  [33, semvers],
  [34, moreLists],
];

/** New expressions may use only libraries that the previous release knows, so that a downgrade is possible. */
const newRelease = 34;

const withCosts = (environment: Environment): Environment => {
  const functions = new Map(environment.functions);
  for (const [name, costs] of functionCosts) {
    const declaration = functions.get(name);
    if (declaration) functions.set(name, {...declaration, ...costs});
  }
  return {...environment, functions};
};

const environmentOf = (release: number): Environment =>
  withCosts(
    extend(emptyEnvironment, {
      libraries: libraryReleases.flatMap(([from, library]) => (from <= release ? [library] : [])),
      validatesLiterals: true,
    }),
  );

/** The environment of expressions that are being written, without variables. */
export const newExpressions: Environment = environmentOf(newRelease);

/** The environment of stored expressions: the libraries of all releases, without variables. */
export const storedExpressions: Environment = environmentOf(Number.POSITIVE_INFINITY);

/** Adds a library that only some expressions may use, with Kubernetes' costs. */
export const withLibrary = (environment: Environment, library: Library): Environment =>
  withCosts(extend(environment, {libraries: [library]}));
