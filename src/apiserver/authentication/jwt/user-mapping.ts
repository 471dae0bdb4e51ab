import type {UserInfo} from '#src/api/user.js';
import {boolClaim, claim, textClaim, textsClaim, type Claims} from './claims.js';
import {checkRules, textsOf, valueOf} from './expressions.js';
import type {CompiledAuthenticator} from './validation.js';

/** Runs a step and says in which it failed. */
const during = <T>(what: string, run: () => T): T => {
  try {
    return run();
  } catch (cause) {
    throw new Error(`oidc: ${what}: ${(cause as Error).message}`, {cause});
  }
};

const usernameOf = ({settings, compiled}: CompiledAuthenticator, claims: Claims): string => {
  if (compiled.username) {
    const expression = compiled.username;
    return during('error evaluating username claim expression', () => {
      const value = valueOf(expression, {claims});
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

const groupsOf = ({settings, compiled}: CompiledAuthenticator, claims: Claims): string[] => {
  const {claim: name = '', prefix = ''} = settings.claimMappings?.groups ?? {};
  if (name) {
    const groups = during(`parse groups claim ${JSON.stringify(name)}`, () => textsClaim(claims, name));
    return groups?.map(group => prefix + group) ?? [];
  }
  const expression = compiled.groups;
  return expression ? during('error evaluating group claim expression', () => textsOf(valueOf(expression, {claims}))) : [];
};

const uidOf = ({settings, compiled}: CompiledAuthenticator, claims: Claims): string => {
  const {claim: name = ''} = settings.claimMappings?.uid ?? {};
  if (name) return during(`parse uid claim ${JSON.stringify(name)}`, () => textClaim(claims, name));
  const expression = compiled.uid;
  if (!expression) return '';
  return during('error evaluating uid claim expression', () => {
    const value = valueOf(expression, {claims});
    if (typeof value !== 'string') throw new Error('uid claim expression must return a string');
    return value;
  });
};

const extraOf = ({compiled}: CompiledAuthenticator, claims: Claims): Record<string, string[]> =>
  Object.fromEntries(
    compiled.extra
      .map(({key, ...expression}): [string, string[]] => [
        key,
        during(`error evaluating extra claim expression: ${expression.text}`, () => textsOf(valueOf(expression, {claims}))),
      ])
      .filter(([, texts]) => texts.length > 0),
  );

const checkClaims = ({settings, compiled}: CompiledAuthenticator, claims: Claims): void => {
  for (const {claim: name = '', requiredValue = ''} of settings.claimValidationRules ?? []) {
    if (!name) continue;
    if (claim(claims, name) === undefined) throw new Error(`oidc: required claim ${name} not present in ID token`);
    const value = during(`parse claim ${name}`, () => textClaim(claims, name));
    if (value !== requiredValue)
      throw new Error(`oidc: required claim ${name} value does not match. Got = ${value}, want = ${requiredValue}`);
  }
  during('error evaluating claim validation expression', () => checkRules(compiled.claimRules, {claims}));
};

/** Maps the claims of a verified token to a user. Throws, with upstream's message, if a claim is missing or a rule does not hold. */
export const userOfClaims = (authenticator: CompiledAuthenticator, claims: Claims): UserInfo => {
  const name = usernameOf(authenticator, claims);
  // Without a name a user could not be distinguished from others.
  if (!name) throw new Error('oidc: the username is empty');
  const groups = groupsOf(authenticator, claims);
  const uid = uidOf(authenticator, claims);
  const extra = extraOf(authenticator, claims);
  checkClaims(authenticator, claims);
  const hasExtra = Object.keys(extra).length > 0;
  const user = {username: name, ...(uid ? {uid} : {}), ...(groups.length > 0 ? {groups} : {}), ...(hasExtra ? {extra} : {})};
  during('error evaluating user info validation rule', () => checkRules(authenticator.compiled.userRules, {user}));
  return {name, groups, ...(uid ? {uid} : {}), ...(hasExtra ? {extra} : {})};
};
