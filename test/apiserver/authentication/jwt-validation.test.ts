import test from 'ava';
import {runSteps} from '#src/base/steps.js';
import {naming} from '#src/api/naming.js';
import {readAuthenticationConfiguration} from '#src/apiserver/authentication/jwt/configuration.js';
import {validateAuthentication} from '#src/apiserver/authentication/jwt/validation.js';
import {startPlane} from '#src/plane/plane.js';
import {configurationFile} from './issuer.js';

const issuer = {url: 'https://issuer', audiences: ['me']};
const claimMappings = {username: {claim: 'sub', prefix: ''}};
const authenticator = {issuer, claimMappings};
const mapped = (more: object) => ({issuer, claimMappings: {...claimMappings, ...more}});

const errorsOf = (...jwt: readonly object[]): string[] =>
  runSteps(validateAuthentication({jwt}, {disallowedIssuers: ['https://own'], allowsEgress: true})).errors.map(
    ({path, detail}) => `${path}: ${detail}`,
  );

const cases: readonly (readonly [object, readonly string[]])[] = [
  [authenticator, []],
  [
    {claimMappings},
    ['jwt[0].issuer.url: Required value', 'jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required'],
  ],
  [
    {issuer: {...issuer, url: 'http://u:p@issuer?q#f'}, claimMappings},
    ['scheme must be https', 'must not contain a username or password', 'must not contain a query', 'must not contain a fragment'].map(
      text => `jwt[0].issuer.url: Invalid value: "http://u:p@issuer?q#f": URL ${text}`,
    ),
  ],
  [
    {issuer: {...issuer, url: 'https://own'}, claimMappings},
    ['jwt[0].issuer.url: Invalid value: "https://own": URL must not overlap with disallowed issuers: [https://own]'],
  ],
  [
    {issuer: {...issuer, discoveryURL: 'https://issuer/'}, claimMappings},
    ['jwt[0].issuer.discoveryURL: Invalid value: "https://issuer/": discoveryURL must be different from URL'],
  ],
  [
    {issuer: {...issuer, audiences: ['a', 'a', '']}, claimMappings},
    [
      'jwt[0].issuer.audiences[1]: Duplicate value: "a"',
      'jwt[0].issuer.audiences[2]: Required value',
      'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences',
    ],
  ],
  [
    {issuer: {...issuer, audienceMatchPolicy: 'All'}, claimMappings},
    ['jwt[0].issuer.audienceMatchPolicy: Invalid value: "All": audienceMatchPolicy must be empty or MatchAny for single audience'],
  ],
  [
    {issuer: {...issuer, certificateAuthority: 'x'}, claimMappings},
    ['jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain any valid RSA or ECDSA certificates'],
  ],
  [
    {issuer: {...issuer, egressSelectorType: 'etcd'}, claimMappings},
    ['jwt[0].issuer.egressSelectorType: Invalid value: "etcd": egress selector must be either controlplane or cluster'],
  ],
  [{issuer}, ['jwt[0].claimMappings.username: Required value: claim or expression is required']],
  [
    {issuer, claimMappings: {username: {claim: 'sub'}}},
    [
      'jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing',
    ],
  ],
  [
    mapped({username: {claim: 'a', expression: 'claims.a'}}),
    [`jwt[0].claimMappings.username: Invalid value: "": claim and expression can't both be set`],
  ],
  [
    mapped({username: {expression: 'claims.a', prefix: 'p'}}),
    ['jwt[0].claimMappings.username.prefix: Invalid value: "p": may not be specified when expression is set'],
  ],
  [
    mapped({username: {expression: 'claims.email'}}),
    [
      'jwt[0].claimMappings.username.expression: Invalid value: "claims.email": claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression',
    ],
  ],
  [mapped({username: {expression: 'claims.?email_verified.orValue(true) == true ? claims.email : ""'}}), []],
  [
    mapped({extra: [{key: 'Foo'}, {key: 'a.kubernetes.io/x', valueExpression: '1'}, {key: 'e.com/a', valueExpression: ''}]}),
    [
      'jwt[0].claimMappings.extra[0].key: Invalid value: "Foo": must be a domain-prefixed path (such as "acme.io/foo")',
      'jwt[0].claimMappings.extra[0].key: Invalid value: "Foo": must be lowercase',
      'jwt[0].claimMappings.extra[0].valueExpression: Required value',
      'jwt[0].claimMappings.extra[1].key: Invalid value: "a.kubernetes.io/x": k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use',
      'jwt[0].claimMappings.extra[2].valueExpression: Required value',
    ],
  ],
  [
    {...authenticator, claimValidationRules: [{}, {claim: 'a', message: 'm'}, {claim: 'a', requiredValue: 'b'}, {expression: '1'}]},
    [
      'jwt[0].claimValidationRules[0]: Required value: claim or expression is required',
      'jwt[0].claimValidationRules[1].message: Invalid value: "m": may not be specified when claim is set',
      'jwt[0].claimValidationRules[2].claim: Duplicate value: "a"',
      'jwt[0].claimValidationRules[3].expression: Invalid value: "1": must evaluate to bool',
    ],
  ],
  [
    {...authenticator, userValidationRules: [{}, {expression: 'true'}, {expression: 'true'}]},
    ['jwt[0].userValidationRules[0].expression: Required value', 'jwt[0].userValidationRules[2].expression: Duplicate value: "true"'],
  ],
];
for (const [index, [jwt, errors]] of cases.entries()) {
  test(`an authenticator of a configuration is validated (${index + 1})`, t => {
    t.deepEqual(errorsOf(jwt), errors);
  });
}

test('an expression that does not compile is reported with its place', t => {
  t.regex(
    errorsOf({...authenticator, userValidationRules: [{expression: 'user.nme == ""'}]})[0]!,
    /^jwt\[0\]\.userValidationRules\[0\]\.expression: Invalid value: .*: compilation failed: ERROR: <input>:1:5: undefined field 'nme'/,
  );
});

test('issuers differ, and there are 64 at most', t => {
  t.deepEqual(errorsOf(authenticator, authenticator), ['jwt[1].issuer.url: Duplicate value: "https://issuer"']);
  t.deepEqual(errorsOf(...Array.from({length: 65}, () => authenticator)), ['jwt: Too many: 65: must have at most 64 items']);
});

test('conditions of anonymous requests need them to be enabled', t => {
  const {errors} = runSteps(
    validateAuthentication({anonymous: {conditions: [{path: '/livez'}]}}, {disallowedIssuers: [], allowsEgress: true}),
  );

  t.is(errors[0]?.detail, 'Invalid value: [{"path":"/livez"}]: enabled should be set to true when conditions are defined');
});

test('the file may have any of the three versions, and no unknown field', t => {
  const read = (version: string, more: object = {}) =>
    readAuthenticationConfiguration(
      JSON.stringify({
        apiVersion: `apiserver.config.plat.io/${version}`,
        kind: 'AuthenticationConfiguration',
        jwt: [authenticator],
        ...more,
      }),
      naming('plat'),
    );
  for (const version of ['v1', 'v1beta1', 'v1alpha1']) t.deepEqual(read(version).jwt, [authenticator]);
  t.throws(() => read('v2'), {message: /no kind "AuthenticationConfiguration" is registered/});
  t.throws(() => read('v1', {more: 1}), {message: /strict decoding error: unknown field "more"/});
});

test('a configuration that cannot be used stops the start with one line', async t => {
  const file = configurationFile('apiVersion: apiserver.config.plat.io/v1\nkind: AuthenticationConfiguration\njwt: [{}]\n');
  const error = await t.throwsAsync(startPlane({naming: 'plat', listen: false, apiserverArgs: [`--authentication-config=${file}`]}));

  t.true(error!.message.startsWith(`--authentication-config: ${file}: [jwt[0].issuer.url: Required value, `), error!.message);
  t.false(error!.message.includes('\n'));
  await t.throwsAsync(startPlane({naming: 'plat', listen: false, apiserverArgs: ['--authentication-config=/nowhere']}), {
    message: /^--authentication-config: .*\/nowhere/,
  });
});
