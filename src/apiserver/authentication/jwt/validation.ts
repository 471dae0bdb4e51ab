// Validates an AuthenticationConfiguration and compiles its expressions, with the messages of upstream's validation.

import {duplicate, invalid, required, tooMany, type FieldError} from '#src/api/field-error.js';
import {naming} from '#src/api/naming.js';
import {parseGoUrl} from '#src/cel/kubernetes/go-url.js';
import {validateDomainPath} from '#src/resources/validation/domain-names.js';
import {readAnchors} from '#src/transport/tls-handshake.js';
import type {
  AuthenticationConfiguration,
  ClaimMappings,
  ClaimOrExpression,
  ClaimValidationRule,
  ExtraMapping,
  Issuer,
  JwtAuthenticatorSettings,
  PrefixedClaimOrExpression,
  UserValidationRule,
} from './configuration.js';
import type {Steps} from '#src/base/steps.js';
import {compileExpression, usesClaim, type Expression, type Subject} from './expressions.js';

/** A rule over claims or a user, with the message of its failure. */
export type Rule = Expression & {readonly message: string};

/** The compiled expressions of one authenticator; absent where a claim is used, or nothing. */
export interface CompiledMappings {
  readonly username?: Expression;
  readonly groups?: Expression;
  readonly uid?: Expression;
  readonly extra: readonly (Expression & {readonly key: string})[];
  readonly claimRules: readonly Rule[];
  readonly userRules: readonly Rule[];
}

/** One authenticator, ready to be used if there were no errors. */
export interface CompiledAuthenticator {
  readonly settings: JwtAuthenticatorSettings;
  readonly compiled: CompiledMappings;
}

export interface ValidationContext {
  /** Issuers that authenticators may not have: those of the server's own tokens. */
  readonly disallowedIssuers: readonly string[];
  /** Whether issuers may be reached through an egress selection. */
  readonly allowsEgress: boolean;
}

const mostAuthenticators = 64;

/** Collects the errors of one authenticator. */
class Check {
  readonly errors: FieldError[] = [];

  *compile(subject: Subject, path: string, text: string, purpose: 'rule' | 'mapping'): Steps<Expression | undefined> {
    const compiled = yield* compileExpression(subject, text, purpose);
    yield;
    if (!('problem' in compiled)) return compiled;
    this.errors.push(invalid(path, text, compiled.problem));
    return undefined;
  }
}

/** The authenticators of a configuration, and what is wrong with it. */
export interface ValidatedAuthentication {
  readonly authenticators: readonly CompiledAuthenticator[];
  readonly errors: readonly FieldError[];
}

/** Returns the compiled authenticators and all errors of a configuration, in steps. */
export const validateAuthentication = function* (
  {jwt = [], anonymous}: AuthenticationConfiguration,
  context: ValidationContext,
): Steps<ValidatedAuthentication> {
  if (jwt.length > mostAuthenticators) return {authenticators: [], errors: [tooMany('jwt', jwt.length, mostAuthenticators)]};
  const check = new Check();
  const issuers = new Set<string>();
  const discoveries = new Set<string>();
  const authenticators: CompiledAuthenticator[] = [];
  for (const [index, settings] of jwt.entries()) {
    const path = `jwt[${index}]`;
    const compiled = yield* authenticator(check, settings, path, context);
    const {url = '', discoveryURL = ''} = settings.issuer ?? {};
    if (issuers.has(url)) check.errors.push(duplicate(`${path}.issuer.url`, url));
    issuers.add(url);
    if (discoveryURL && discoveries.has(discoveryURL)) check.errors.push(duplicate(`${path}.issuer.discoveryURL`, discoveryURL));
    discoveries.add(discoveryURL);
    authenticators.push({settings, compiled});
  }
  if (anonymous && !anonymous.enabled && anonymous.conditions?.length)
    check.errors.push(invalid('anonymous.conditions', anonymous.conditions, 'enabled should be set to true when conditions are defined'));
  return {authenticators, errors: check.errors};
};

const authenticator = function* (
  check: Check,
  settings: JwtAuthenticatorSettings,
  path: string,
  context: ValidationContext,
): Steps<CompiledMappings> {
  check.errors.push(...issuerErrors(settings.issuer ?? {}, `${path}.issuer`, context));
  const claimRules = yield* claimValidationRules(check, settings.claimValidationRules ?? [], `${path}.claimValidationRules`);
  const mappings = yield* claimMappings(check, settings.claimMappings ?? {}, `${path}.claimMappings`, claimRules);
  return {
    ...mappings,
    claimRules,
    userRules: yield* userValidationRules(check, settings.userValidationRules ?? [], `${path}.userValidationRules`),
  };
};

function* issuerErrors(issuer: Issuer, path: string, {disallowedIssuers, allowsEgress}: ValidationContext): Iterable<FieldError> {
  const {url = '', discoveryURL = '', certificateAuthority, egressSelectorType} = issuer;
  if (url) yield* urlErrors(url, `${path}.url`, disallowedIssuers);
  else yield required(`${path}.url`);
  if (discoveryURL) {
    if (url && url.replace(/\/+$/, '') === discoveryURL.replace(/\/+$/, ''))
      yield invalid(`${path}.discoveryURL`, discoveryURL, 'discoveryURL must be different from URL');
    yield* urlErrors(discoveryURL, `${path}.discoveryURL`, []);
  }
  yield* audienceErrors(issuer, path);
  if (certificateAuthority) {
    try {
      readAnchors(certificateAuthority);
    } catch {
      yield invalid(`${path}.certificateAuthority`, '<omitted>', 'data does not contain any valid RSA or ECDSA certificates');
    }
  }
  if (!egressSelectorType) return;
  const at = `${path}.egressSelectorType`;
  if (!allowsEgress) {
    const gate = 'StructuredAuthenticationConfigurationEgressSelector';
    yield invalid(at, egressSelectorType, `egress selector is not supported when ${gate} feature gate is disabled`);
  }
  if (!['controlplane', 'cluster'].includes(egressSelectorType))
    yield invalid(at, egressSelectorType, 'egress selector must be either controlplane or cluster');
}

function* urlErrors(text: string, path: string, disallowed: readonly string[]): Iterable<FieldError> {
  if (disallowed.includes(text))
    yield invalid(path, text, `URL must not overlap with disallowed issuers: [${[...disallowed].sort().join(' ')}]`);
  let url;
  try {
    url = parseGoUrl(text);
  } catch (error) {
    yield invalid(path, text, (error as Error).message);
    return;
  }
  if (url.scheme !== 'https') yield invalid(path, text, 'URL scheme must be https');
  if (url.user !== undefined) yield invalid(path, text, 'URL must not contain a username or password');
  if (url.query) yield invalid(path, text, 'URL must not contain a query');
  if (url.fragment) yield invalid(path, text, 'URL must not contain a fragment');
}

function* audienceErrors({audiences = [], audienceMatchPolicy: policy = ''}: Issuer, path: string): Iterable<FieldError> {
  const at = `${path}.audiences`;
  if (audiences.length === 0) return yield required(at, `at least one ${at} is required`);
  for (const [index, audience] of audiences.entries()) {
    if (!audience) yield required(`${at}[${index}]`);
    if (audiences.indexOf(audience) < index) yield duplicate(`${at}[${index}]`, audience);
  }
  if (policy === 'MatchAny') return;
  if (audiences.length > 1)
    yield invalid(`${path}.audienceMatchPolicy`, policy, 'audienceMatchPolicy must be MatchAny for multiple audiences');
  else if (policy)
    yield invalid(`${path}.audienceMatchPolicy`, policy, 'audienceMatchPolicy must be empty or MatchAny for single audience');
}

const claimValidationRules = function* (check: Check, rules: readonly ClaimValidationRule[], path: string): Steps<Rule[]> {
  const {errors} = check;
  const seen = {claim: new Set<string>(), expression: new Set<string>()};
  const compiled: Rule[] = [];
  for (const [index, {claim = '', requiredValue = '', expression = '', message = ''}] of rules.entries()) {
    const at = `${path}[${index}]`;
    if (claim && expression) errors.push(invalid(at, claim, "claim and expression can't both be set"));
    else if (!claim && !expression) errors.push(required(at, 'claim or expression is required'));
    else if (claim) {
      if (message) errors.push(invalid(`${at}.message`, message, 'may not be specified when claim is set'));
      if (seen.claim.has(claim)) errors.push(duplicate(`${at}.claim`, claim));
      seen.claim.add(claim);
    } else {
      if (requiredValue) errors.push(invalid(`${at}.requiredValue`, requiredValue, 'may not be specified when expression is set'));
      if (seen.expression.has(expression)) {
        errors.push(duplicate(`${at}.expression`, expression));
        continue;
      }
      seen.expression.add(expression);
      const rule = yield* check.compile('claims', `${at}.expression`, expression, 'rule');
      if (rule) compiled.push({...rule, message});
    }
  }
  return compiled;
};

const prefixedClaim = function* (
  check: Check,
  {claim, prefix, expression}: PrefixedClaimOrExpression,
  path: string,
  isRequired: boolean,
): Steps<Expression | undefined> {
  const {errors} = check;
  if (expression && claim) errors.push(invalid(path, '', "claim and expression can't both be set"));
  else if (expression) {
    if (prefix !== undefined) errors.push(invalid(`${path}.prefix`, prefix, 'may not be specified when expression is set'));
    return yield* check.compile('claims', `${path}.expression`, expression, 'mapping');
  } else if (claim) {
    if (prefix === undefined)
      errors.push(
        required(`${path}.prefix`, 'prefix is required when claim is set. It can be set to an empty string to disable prefixing'),
      );
  } else if (isRequired) errors.push(required(path, 'claim or expression is required'));
  return undefined;
};

const uidExpression = function* (check: Check, {claim, expression}: ClaimOrExpression, path: string): Steps<Expression | undefined> {
  if (!expression) return undefined;
  if (!claim) return yield* check.compile('claims', `${path}.expression`, expression, 'mapping');
  check.errors.push(invalid(path, '', "claim and expression can't both be set"));
  return undefined;
};

const claimMappings = function* (
  check: Check,
  mappings: ClaimMappings,
  path: string,
  claimRules: readonly Rule[],
): Steps<Pick<CompiledMappings, 'username' | 'groups' | 'uid' | 'extra'>> {
  const username = yield* prefixedClaim(check, mappings.username ?? {}, `${path}.username`, true);
  const groups = yield* prefixedClaim(check, mappings.groups ?? {}, `${path}.groups`, false);
  const uid = yield* uidExpression(check, mappings.uid ?? {}, `${path}.uid`);
  const extra = yield* extraMappings(check, mappings.extra ?? [], `${path}.extra`);
  if (username && usesClaim(username, 'email') && ![username, ...extra, ...claimRules].some(one => usesClaim(one, 'email_verified')))
    check.errors.push(
      invalid(
        `${path}.username.expression`,
        mappings.username?.expression,
        'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression',
      ),
    );
  return {...(username ? {username} : {}), ...(groups ? {groups} : {}), ...(uid ? {uid} : {}), extra};
};

const kubernetes = naming('kubernetes');
/** Domains whose keys only Kubernetes itself, and this server, may set. */
const reserved = [kubernetes.apiSuffix, kubernetes.domain, naming('plat').domain];
const isReserved = (key: string): boolean => {
  const domain = key.slice(0, Math.max(0, key.indexOf('/')));
  return reserved.some(own => domain === own || domain.endsWith(`.${own}`));
};

const extraMappings = function* (check: Check, mappings: readonly ExtraMapping[], path: string): Steps<CompiledMappings['extra']> {
  const {errors} = check;
  const seen = new Set<string>();
  const compiled: (Expression & {readonly key: string})[] = [];
  for (const [index, {key = '', valueExpression = ''}] of mappings.entries()) {
    const at = `${path}[${index}]`;
    errors.push(...validateDomainPath(`${at}.key`, key));
    if (key !== key.toLowerCase()) errors.push(invalid(`${at}.key`, key, 'must be lowercase'));
    if (isReserved(key))
      errors.push(
        invalid(`${at}.key`, key, `${kubernetes.apiSuffix}, ${kubernetes.domain} and their subdomains are reserved for Kubernetes use`),
      );
    if (seen.has(key)) {
      errors.push(duplicate(`${at}.key`, key));
      continue;
    }
    seen.add(key);
    if (!valueExpression) {
      errors.push(required(`${at}.valueExpression`));
      continue;
    }
    const expression = yield* check.compile('claims', `${at}.valueExpression`, valueExpression, 'mapping');
    if (expression) compiled.push({...expression, key});
  }
  return compiled;
};

const userValidationRules = function* (check: Check, rules: readonly UserValidationRule[], path: string): Steps<Rule[]> {
  const seen = new Set<string>();
  const compiled: Rule[] = [];
  for (const [index, {expression = '', message = ''}] of rules.entries()) {
    const at = `${path}[${index}].expression`;
    if (!expression) check.errors.push(required(at));
    else if (seen.has(expression)) check.errors.push(duplicate(at, expression));
    else {
      seen.add(expression);
      const rule = yield* check.compile('user', at, expression, 'rule');
      if (rule) compiled.push({...rule, message});
    }
  }
  return compiled;
};
