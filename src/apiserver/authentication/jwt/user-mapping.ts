import type {UserInfo} from '#src/api/user.js';
import {boolClaim, claim, textClaim, textsClaim, type Claims} from './claims.js';
import {runSteps, stepsOf, type Steps, type MaybeSteps} from '#src/base/steps.js';
import {checkRules, textsOf, valueOf, type Expression} from './expressions.js';
import type {CompiledAuthenticator} from './validation.js';

/** Runs a part of the mapping and says in which it failed. */
const during = <T>(what: string, run: () => T): T => runSteps(duringSteps(what, run));

const duringSteps = function* <T>(what: string, run: () => MaybeSteps<T>): Steps<T> {
  try {
    return yield* stepsOf(run());
  } catch (cause) {
    throw new Error(`oidc: ${what}: ${(cause as Error).message}`, {cause});
  }
};

const textsFrom = function* (expression: Expression, claims: Claims): Steps<string[]> {
  return textsOf(yield* valueOf(expression, {claims}));
};

const usernameOf = function* ({settings, compiled}: CompiledAuthenticator, claims: Claims): Steps<string> {
  if (compiled.username) {
    const expression = compiled.username;
    return yield* duringSteps('error evaluating username claim expression', function* () {
      const value = yield* valueOf(expression, {claims});
      if (typeof value !== 'string') throw new Error('username claim expression must return a string');
      return value;
    });
  }
  const {claim: name = '', prefix = ''} = settings.claimMappings?.username ?? {};
  const username = during(`parse username claims ${JSON.stringify(name)}`, () => textClaim(claims, name));
  if (name === 'email' && claim(claims, 'email_verified') !== undefined) {
    if (!during("parse 'email_verified' claim", () => boolClaim(claims, 'email_verified'))) throw new Error('oidc: email not verified');
  }
  return prefix + username;
};

const groupsOf = function* ({settings, compiled}: CompiledAuthenticator, claims: Claims): Steps<string[]> {
  const {claim: name = '', prefix = ''} = settings.claimMappings?.groups ?? {};
  if (name) {
    const groups = during(`parse groups claim ${JSON.stringify(name)}`, () => textsClaim(claims, name));
    return groups?.map(group => prefix + group) ?? [];
  }
  const expression = compiled.groups;
  return expression ? yield* duringSteps('error evaluating group claim expression', () => textsFrom(expression, claims)) : [];
};

const uidOf = function* ({settings, compiled}: CompiledAuthenticator, claims: Claims): Steps<string> {
  const {claim: name = ''} = settings.claimMappings?.uid ?? {};
  if (name) return during(`parse uid claim ${JSON.stringify(name)}`, () => textClaim(claims, name));
  const expression = compiled.uid;
  if (!expression) return '';
  return yield* duringSteps('error evaluating uid claim expression', function* () {
    const value = yield* valueOf(expression, {claims});
    if (typeof value !== 'string') throw new Error('uid claim expression must return a string');
    return value;
  });
};

const extraOf = function* ({compiled}: CompiledAuthenticator, claims: Claims): Steps<Record<string, string[]>> {
  const found: [string, string[]][] = [];
  for (const {key, ...expression} of compiled.extra) {
    const what = `error evaluating extra claim expression: ${expression.text}`;
    const texts = yield* duringSteps(what, () => textsFrom(expression, claims));
    if (texts.length > 0) found.push([key, texts]);
  }
  return Object.fromEntries(found);
};

const checkClaims = function* ({settings, compiled}: CompiledAuthenticator, claims: Claims): Steps<void> {
  for (const {claim: name = '', requiredValue = ''} of settings.claimValidationRules ?? []) {
    if (!name) continue;
    if (claim(claims, name) === undefined) throw new Error(`oidc: required claim ${name} not present in ID token`);
    const value = during(`parse claim ${name}`, () => textClaim(claims, name));
    if (value !== requiredValue)
      throw new Error(`oidc: required claim ${name} value does not match. Got = ${value}, want = ${requiredValue}`);
  }
  yield* duringSteps('error evaluating claim validation expression', () => checkRules(compiled.claimRules, {claims}));
};

/**
 * Maps the claims of a verified token to a user, in steps. Throws, with upstream's message, if a claim is missing or a
 * rule does not hold.
 */
export const userOfClaims = function* (authenticator: CompiledAuthenticator, claims: Claims): Steps<UserInfo> {
  const name = yield* usernameOf(authenticator, claims);
  // Without a name a user could not be distinguished from others.
  if (!name) throw new Error('oidc: the username is empty');
  const groups = yield* groupsOf(authenticator, claims);
  const uid = yield* uidOf(authenticator, claims);
  const extra = yield* extraOf(authenticator, claims);
  yield* checkClaims(authenticator, claims);
  const hasExtra = Object.keys(extra).length > 0;
  const user = {username: name, ...(uid ? {uid} : {}), ...(groups.length > 0 ? {groups} : {}), ...(hasExtra ? {extra} : {})};
  yield* duringSteps('error evaluating user info validation rule', () => checkRules(authenticator.compiled.userRules, {user}));
  return {name, groups, ...(uid ? {uid} : {}), ...(hasExtra ? {extra} : {})};
};
