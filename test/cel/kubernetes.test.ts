import test from 'ava';
import type {Attributes, Decision} from '#src/api/authorization.js';
import {runSteps} from '#src/base/steps.js';
import {startRun} from '#src/apiserver/admission/expressions/run.js';
import {isCompileError, type Bindings} from '#src/cel/compile.js';
import {extend, type Environment} from '#src/cel/check/environment.js';
import {admissionEnvironment, compileAdmission, Composition, isProblem, resultTypes, type Compiled} from '#src/cel/kubernetes/admission.js';
import {Authorizations} from '#src/cel/kubernetes/authorization.js';
import {authorizerType, authorizerVariables, resourceCheckType} from '#src/cel/kubernetes/authorizer.js';
import {newExpressions, withLibrary} from '#src/cel/kubernetes/environment.js';
import {appliedType, jsonPatches, jsonPatchType, typeNameErrors, patchTypes} from '#src/cel/kubernetes/patches.js';
import {toJson} from '#src/cel/values/to-json.js';
import {dyn, listOf} from '#src/cel/values/types.js';
import type {Failure, Value} from '#src/cel/values/values.js';
import {compiled, evaluated} from './evaluation.js';

const withPatches = extend(withLibrary(newExpressions, jsonPatches), {types: patchTypes, variables: {x: dyn}});

const value = (text: string, environment: Environment = withPatches, bindings: Bindings = {x: 1n}): Exclude<Value, Failure> | string => {
  const program = compiled(environment, text);
  if (isCompileError(program)) return `refused: ${program.message}`;
  const outcome = evaluated(program, bindings);
  return 'error' in outcome ? `failed: ${outcome.error}` : outcome.value;
};

const gives = (title: string, cases: Readonly<Record<string, unknown>>): void => {
  test(title, t => {
    for (const [text, expected] of Object.entries(cases)) {
      const given = toJson(value(text));
      if (expected instanceof RegExp) t.regex(given as string, expected, text);
      else t.deepEqual(given, expected, text);
    }
  });
};

gives('lists are sorted, summed up and searched', {
  '[1, 2, 2].isSorted() && !["b", "a"].isSorted() && [].isSorted()': true,
  '[1, 3].sum() + [].sum()': 4,
  '[1.5, 3.0].sum() + dyn([1.0, 2.0]).sum()': 7.5,
  '[duration("1m"), duration("1s")].sum()': '61s',
  '[9223372036854775807, 1].sum()': 'failed: integer overflow',
  '[3, 1, 2].max() - [3, 1, 2].min()': 2,
  '["b", "a"].min()': 'a',
  'dyn([1, 2]).flatten() + [[3]].flatten()': [1, 2, 3],
  '[x].filter(y, y > 1).max()': 'failed: max called on empty list',
  '[1, 2, 2, 3].indexOf(2) * 10 + [1, 2, 2, 3].lastIndexOf(2)': 12,
  '["a"].indexOf("b")': -1,
});

gives('literals are of one type, save for what is formatted', {
  '[1, x, "a"]': "refused: ERROR: <input>:1:5: expected type 'int' but found 'dyn'\n | [1, x, \"a\"]\n | ....^",
  '{"a": 1, "b": "c"}':
    'refused: ERROR: <input>:1:15: expected type \'int\' but found \'string\'\n | {"a": 1, "b": "c"}\n | ..............^',
  '"%d %s %e".format([1, "a", 3.14])': '1 a 3.140000×10⁰⁰',
});

gives('values that cannot be formatted are reported', {
  '"%s".format([b"\\xff"])':
    'failed: error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string',
  '"%s %".format([x])': 'refused: ERROR: <input>:1:14: unexpected end of string\n | "%s %".format([x])\n | .............^',
  '"%.f".format([1.5])':
    'refused: ERROR: <input>:1:13: could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax\n | "%.f".format([1.5])\n | ............^',
  '"%.1f".format([1e23])': '99,999,999,999,999,991,611,392.0',
});

gives('a text that is no address is in no range, and existsOne takes two names', {
  'cidr("10.0.0.0/8").containsIP("x")': 'failed: no such overload',
  '[1, 2].existsOne(i, v, v == 1)': true,
  '[1].existsOne(v, v == 1)': /undeclared reference to 'existsOne'/,
});

gives('patterns find texts', {
  '"abc 123 def 456".find("[0-9]+")': '123',
  '"abc".find("[0-9]")': '',
  '"123 abc 456".findAll("[0-9]*")': ['123', '', '', '', '', '456'],
  '"123 abc 456".findAll("[0-9]+", 1)': ['123'],
  '"123 abc 456".findAll("[0-9]+", 0)': [],
  '"abc".find("(")': 'refused: error parsing regexp: missing closing ): `(`',
  '"abc".find(x == 1 ? "(" : "")': 'failed: Illegal regex: error parsing regexp: missing closing ): `(`',
});

const url = 'https://user:pass@example.com:80/a%20b/c d?k1=a&k2=b&k2=c%20d#f';
gives('URLs are taken apart', {
  [`url("${url}").getScheme() + " " + url("${url}").getHost() + " " + url("${url}").getHostname() + " " + url("${url}").getPort()`]:
    'https example.com:80 example.com 80',
  [`url("${url}").getEscapedPath()`]: '/a%20b/c%20d',
  [`url("${url}").getQuery()`]: {k1: ['a'], k2: ['b', 'c d']},
  'url("https://[::1]:80/").getHostname() + url("/path").getHost()': '::1',
  'url("https://[::1]/").getHost()': '[::1]',
  'url("HTTP://a/b") == url("http://a/b")': true,
  'isURL("../relative") || isURL("") || isURL("https://a:b:c/")': false,
  'isURL("/absolute") && isURL("https://a")': true,
  'url("https://a:b:c/")': 'failed: URL parse error during conversion from string: parse "https://a:b:c/": invalid port ":c" after host',
  'url("../a")': 'failed: URL parse error during conversion from string: parse "../a": invalid URI for request',
  'url("http://a b/")': 'failed: URL parse error during conversion from string: parse "http://a b/": invalid character " " in host name',
  'url("http://a/%zz")': 'failed: URL parse error during conversion from string: parse "http://a/%zz": invalid URL escape "%zz"',
  'url(":a")': 'failed: URL parse error during conversion from string: parse ":a": missing protocol scheme',
  'url("")': 'failed: URL parse error during conversion from string: parse "": empty url',
});

gives('quantities are reckoned with', {
  'quantity("50k").add("20k" == "" ? quantity("1") : quantity("20k")) == quantity("70k")': true,
  'quantity("50k").sub(20000) == quantity("30k")': true,
  'quantity("200M").compareTo(quantity("0.2G"))': 0,
  'quantity("150Mi").isGreaterThan(quantity("100Mi")) && quantity("50M").isLessThan(quantity("50Mi"))': true,
  'quantity("50k").asInteger() + sign(quantity("-1"))': 49_999,
  'quantity("50.5").isInteger() || isQuantity("20M.")': false,
  'quantity("9999999999999999999").asInteger()': 'failed: cannot convert value to integer',
  'quantity("50.703k").asApproximateFloat()': 50_703,
  'quantity("10Mo")': "failed: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  'quantity("10x").sign()':
    "refused: ERROR: <input>:1:21: found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'\n | quantity(\"10x\").sign()\n | ....................^",
});

const inRange = 'failed: network address parse error during conversion from string: ';
gives('addresses and ranges are distinguished', {
  'ip("192.168.0.1").family() * 10 + ip("::1").family()': 46,
  'ip("::1").isLoopback() && ip("0.0.0.0").isUnspecified() && ip("fe80::1").isLinkLocalUnicast() && ip("224.0.0.1").isLinkLocalMulticast() && ip("ff02::1").isLinkLocalMulticast()': true,
  'ip("2001:db8::abcd").isGlobalUnicast() && !ip("255.255.255.255").isGlobalUnicast() && !ip("ff00::1").isGlobalUnicast() && ip("192.168.0.1").isGlobalUnicast()': true,
  'ip.isCanonical("2001:db8::abcd") && !ip.isCanonical("2001:DB8::ABCD")': true,
  'string(ip("2001:DB8:0::1")) + " " + string(cidr("192.168.0.1/24").masked()) + " " + string(cidr("192.168.0.1/24"))':
    '2001:db8::1 192.168.0.0/24 192.168.0.1/24',
  'type(ip("::1")) == net.IP && type(cidr("::/0")) == net.CIDR': true,
  'cidr("192.168.0.0/16").containsIP("192.168.1.1") && cidr("192.168.0.0/16").containsCIDR("192.168.10.0/24") && !cidr("192.168.1.0/24").containsCIDR(cidr("192.168.0.0/16"))': true,
  'cidr("::1/128").prefixLength() + cidr("::1/128").ip().family()': 134,
  'isIP("1.2.3.4") && !isIP("::ffff:1.2.3.4") && !isIP("fe80::1%eth0") && isCIDR("10.0.0.0/8") && !isCIDR("10.0.0.0/33")': true,
  'ip("a")': 'failed: IP Address "a" parse error during conversion from string: ParseAddr("a"): unable to parse IP',
  'ip("1.2.3")': 'failed: IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): IPv4 address too short',
  'ip("1.2.3.300")':
    'failed: IP Address "1.2.3.300" parse error during conversion from string: ParseAddr("1.2.3.300"): IPv4 field has value >255',
  'ip("1::2::3")':
    'failed: IP Address "1::2::3" parse error during conversion from string: ParseAddr("1::2::3"): multiple :: in address (at ":3")',
  'ip("1:2:g")':
    'failed: IP Address "1:2:g" parse error during conversion from string: ParseAddr("1:2:g"): each colon-separated field must have at least one digit (at "g")',
  'ip("fe80::1%eth0")': 'failed: IP address "fe80::1%eth0" with zone value is not allowed',
  'ip("::ffff:1.2.3.4")': 'failed: IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed',
  'cidr("1.2.3.4")': `${inRange}network address parse error during conversion from string: netip.ParsePrefix("1.2.3.4"): no '/'`,
  'cidr("1.2.3.4/33")': `${inRange}network address parse error during conversion from string: netip.ParsePrefix("1.2.3.4/33"): prefix length out of range`,
  'cidr("1.2.3.4/08")': `${inRange}network address parse error during conversion from string: netip.ParsePrefix("1.2.3.4/08"): bad bits after slash: "08"`,
  'cidr("::ffff:1.2.3.4/120")': `${inRange}IPv4-mapped IPv6 address "::ffff:1.2.3.4/120" is not allowed`,
});

gives('formats report the fault of a text', {
  'format.dns1123Label().validate("my-name").hasValue() || format.dns1123LabelPrefix().validate("my-name-").hasValue() || format.uuid().validate("123e4567-e89b-12d3-a456-426614174000").hasValue()': false,
  'format.dns1123Label().validate("a.b").value()': ['must not contain dots'],
  'format.named("byte").value().validate("!").value()': ['invalid base64'],
  'format.named("odd").hasValue()': false,
  'format.uri().validate("a").value()': ['parse "a": invalid URI for request'],
  'format.date().validate("2021-02-30").value() + format.datetime().validate("now").value() + format.uuid().validate("x").value()': [
    'invalid date',
    'invalid datetime',
    'does not match the UUID format',
  ],
  'format.named("date").value() == format.date()': true,
});

gives('versions are compared', {
  'semver("1.2.3").major() * 100 + semver("1.2.3").minor() * 10 + semver("1.2.3").patch()': 123,
  'semver("1.0.0-alpha").isLessThan(semver("1.0.0")) && semver("1.0.0-alpha.1").isGreaterThan(semver("1.0.0-alpha")) && semver("1.0.0-2").isLessThan(semver("1.0.0-10"))': true,
  'semver("1.2.3+a") == semver("1.2.3+b")': true,
  'semver("v01.01", true).compareTo(semver("1.1.0"))': 0,
  'isSemver("v1.0") || isSemver("01.1.1") || !isSemver("v1.0", true)': false,
  'semver("1")': 'failed: No Major.Minor.Patch elements found',
  'semver("01.1.1")': 'failed: Major number must not contain leading zeroes "01"',
  'semver("a.1.1")': 'failed: Invalid character(s) found in major number "a"',
  'semver("1.1.1-")': 'failed: Prerelease is empty',
  'semver("1.1.18446744073709551616")': 'failed: strconv.ParseUint: parsing "18446744073709551616": value out of range',
  'semver("1.0-a", true)': 'failed: short version cannot contain PreRelease/Build meta data',
});

gives('changes are written as objects of their own types', {
  'JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b~c"), value: x}': {
    op: 'add',
    path: '/metadata/labels/a~1b~0c',
    value: 1,
  },
  'Object{spec: Object.spec{replicas: 3, ?none: optional.none()}}': {spec: {replicas: 3}},
  'Object{a: [1, 2]}.a.sum()': 3,
  'Object{a: Object.a{b: 1}} == Object{a: Object.a{b: 1}}': true,
  'has(Object{a: 1}.b)': false,
  'JSONPatch{op: 1}':
    "refused: ERROR: <input>:1:13: expected type of field 'op' is 'string' but provided type is 'int'\n | JSONPatch{op: 1}\n | ............^",
  'Odd{}': "refused: ERROR: <input>:1:4: undeclared reference to 'Odd' (in container '')\n | Odd{}\n | ...^",
});

test('expressions that write changes are known by their types', t => {
  const typeOf = (text: string) => {
    const program = compiled(withPatches, text);
    return isCompileError(program) ? program.message : program.type.text;
  };
  t.is(typeOf('[JSONPatch{op: "test", path: "/a"}]'), listOf(jsonPatchType).text);
  t.is(typeOf('Object{}'), appliedType.text);
});

test('object types that do not match their field path are reported', t => {
  t.deepEqual(typeNameErrors(value('Object{spec: Object.spec{a: [Object.spec.a{}]}}') as Value), []);
  t.deepEqual(typeNameErrors(value('Object{spec: Object.status{}}') as Value), [
    'unexpected type name "Object.status", expected "Object.spec", which matches field name path from root Object type',
  ]);
});

test('variables of a policy are evaluated once, on first use, and charged then', t => {
  const use = {hasParams: false, hasAuthorizer: false};
  const budget = 10_000;
  const composition = new Composition();
  const within = composition.environmentFor(admissionEnvironment(use, 'new'));
  const programs = new Map<string, Compiled>();
  for (const [name, text] of [
    ['a', 'object.items.map(x, x + 1)'],
    ['b', 'variables.a.sum()'],
    ['c', 'object.none'],
    ['d', 'variables.e'],
  ]) {
    const program = runSteps(compileAdmission(within, text!, resultTypes.variable));
    composition.add(name!, program);
    programs.set(name!, program);
  }
  const evaluate = (text: string) => {
    const program = runSteps(compileAdmission(within, text, resultTypes.condition));
    if (isProblem(program)) return program.problem;
    const run = startRun({object: {items: [1, 2]}}, budget, programs);
    const result = runSteps(run.evaluate(text, program));
    return [budget - run.left, 'error' in result ? result.error : result.value];
  };

  // Two steps to a variable and one for the comparison, twice; the expressions of the variables once: 31 for the one, 4
  // for the other.
  t.deepEqual(evaluate('variables.b == 5 && variables.b == 5'), [6 + 35, true]);
  t.deepEqual(evaluate('true || variables.c == 1'), [0, true]);
  t.is(
    (evaluate('variables.c == 1') as unknown[])[1],
    'expression \'variables.c == 1\' resulted in error: composited variable "c" fails to evaluate: no such key: none',
  );
  t.regex(
    (evaluate('variables.d == 1') as unknown[])[1] as string,
    /: composited variable "d" fails to compile: compilation failed: ERROR: <input>:1:10: undefined field 'e'/,
  );
  t.regex(evaluate('variables.a == 1') as string, /found no matching overload for '_==_' applied to '\(list\(int\), int\)'/);
});

test('variables of a policy that take long are evaluated in steps, wherever they are used', t => {
  const use = {hasParams: false, hasAuthorizer: false};
  const composition = new Composition();
  const within = composition.environmentFor(admissionEnvironment(use, 'new'));
  const programs = new Map<string, Compiled>();
  for (const [name, text] of [
    ['slow', 'object.items.map(x, object.items.all(y, x + y > 0))'],
    ['slower', 'variables.slow.all(x, variables.slow.all(y, x == y))'],
  ]) {
    const program = runSteps(compileAdmission(within, text!, resultTypes.variable));
    composition.add(name!, program);
    programs.set(name!, program);
  }
  const object = {items: Array.from({length: 80}, (_, index) => index + 1)};

  for (const text of [
    'variables.slower',
    'has(variables.slower) && variables.slower',
    '[variables].exists(v, v.slower)',
    'dyn(variables).slower == true',
    '[variables].all(v, v.slower)',
  ]) {
    const program = runSteps(compileAdmission(within, text, resultTypes.condition));
    if (isProblem(program)) return t.fail(program.problem);
    const run = startRun({object}, 10_000_000, programs);
    const work = run.evaluate(text, program);
    let steps = 0;
    let last = work.next();
    for (; !last.done; last = work.next()) steps++;
    t.deepEqual(last.value, {value: true, cost: (last.value as {cost?: number}).cost} as never, text);
    t.true(steps > 20, `${steps}: ${text}`);
  }
});

const asking = extend(newExpressions, {variables: {authorizer: authorizerType, 'authorizer.requestResource': resourceCheckType}});
const user = {name: 'jo', groups: ['g']};

const ask = async (text: string, decide: (attributes: Attributes) => Decision | Promise<Decision>) => {
  const program = compiled(asking, text);
  if (isCompileError(program)) throw new Error(program.message);
  const authorizations = new Authorizations({authorize: decide});
  const asker = {user, authorizations};
  const request = {requestResource: {group: '', resource: 'pods'}, requestSubResource: 'status', namespace: 'n', name: 'p'};
  return authorizations.runUntilDecided(() => evaluated(program, authorizerVariables(asker, request), 10_000_000));
};

test('comparing addresses costs by their length', t => {
  const costOf = (text: string) => {
    const program = compiled(newExpressions, text);
    return isCompileError(program) ? program.message : evaluated(program, {}).cost;
  };
  t.is(costOf("ip('::1') == ip('::2')"), 3);
  t.is(costOf("ip('::1') != ip('::2')"), 4);
});

test('authorization in an expression reaches the authorizer', async t => {
  const requested: Attributes[] = [];
  const outcome = await ask(
    `authorizer.group('apps').resource('deployments').subresource('scale').namespace('n').name('d').fieldSelector('a=b').labelSelector('c').check('get').allowed()
      && authorizer.path('/healthz').check('get').allowed()
      && authorizer.requestResource.check('update').allowed()
      && authorizer.serviceAccount('ns', 'sa').path('/a').check('get').allowed()`,
    attributes => {
      requested.push(attributes);
      return {decision: 'allow'};
    },
  );

  t.like(outcome, {value: true});
  t.deepEqual(requested, [
    {
      user,
      verb: 'get',
      path: '',
      resource: {
        group: 'apps',
        version: '*',
        resource: 'deployments',
        subresource: 'scale',
        namespace: 'n',
        name: 'd',
        fieldSelector: 'a=b',
        labelSelector: 'c',
      },
    },
    {user, verb: 'get', path: '/healthz'},
    {
      user,
      verb: 'update',
      path: '',
      resource: {group: '', version: '*', resource: 'pods', subresource: 'status', namespace: 'n', name: 'p'},
    },
    {user: {name: 'system:serviceaccount:ns:sa', groups: ['system:serviceaccounts', 'system:serviceaccounts:ns']}, verb: 'get', path: '/a'},
  ]);
});

test('an asynchronous authorizer is called once and costs the same as a synchronous one', async t => {
  const text = "authorizer.path('/a').check('get').allowed() && authorizer.path('/a').check('get').reason() == 'r'";
  let count = 0;
  const later = await ask(text, () => {
    count += 1;
    return Promise.resolve({decision: 'allow', reason: 'r'});
  });

  t.deepEqual(later, await ask(text, () => ({decision: 'allow', reason: 'r'})));
  t.like(later, {value: true});
  t.is(count, 1);
});

for (const [text, expected] of [
  ["authorizer.path(' ')", 'path must not be empty'],
  ["authorizer.group('').resource('')", 'resource must not be empty'],
  ["authorizer.serviceAccount('a.b', 'c')", 'Invalid service account namespace'],
  ["authorizer.serviceAccount('a', 'C')", 'Invalid service account name'],
  ['authorizer == authorizer', 'no such overload'],
] as const) {
  test(`asking fails for ${text}`, async t => {
    t.like(await ask(text, () => ({decision: 'deny'})), {error: expected});
  });
}

test('the error of a failing authorizer is returned', async t => {
  const outcome = await ask("authorizer.path('/a').check('get').errored() && authorizer.path('/a').check('get').error() == 'lost'", () =>
    Promise.reject(new Error('lost')),
  );
  t.like(outcome, {value: true});
});
