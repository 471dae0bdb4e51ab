import test from 'ava';
import {classesOf, classNames, testsOf} from './classes.js';
import {divided, focuses} from './focus.js';
import {missingImages} from './images.js';
import {hasFailed, outcomesOf, summary, type Report} from './outcomes.js';
import {suiteMissing} from './suite.js';

const all = classNames.flatMap(testsOf);

test('each of the 441 conformance tests is in one class, and the lists are sorted', t => {
  t.is(all.length, 441);
  t.is(new Set(all).size, 441);
  t.deepEqual(
    all.filter(name => !/^\[sig-[a-z-]+\] .* \[Conformance\]$/.test(name)),
    [],
  );
  for (const name of classNames) t.deepEqual(testsOf(name), testsOf(name).toSorted(), name);
  t.deepEqual(
    classNames.map(name => testsOf(name).length),
    [139, 78, 163, 40, 21],
  );
});

test('an expression for a class matches its tests and no others', t => {
  for (const name of classNames) {
    const [pattern = '', ...others] = focuses(testsOf(name));
    t.deepEqual(others, []);
    const expression = new RegExp(pattern);
    t.deepEqual(all.filter(test => expression.test(test)).toSorted(), testsOf(name), name);
  }
});

test('expressions that are too long for an argument are several', t => {
  t.deepEqual(focuses(['[a] b', '[a] c (d)', 'e'], 18), ['\\[a\\] b', '\\[a\\] c \\(d\\)|e']);
  t.deepEqual(focuses([]), []);
});

test('serial tests run alone, the others in parts', t => {
  t.deepEqual(divided(['a', 'b [Serial]', 'c', 'd [Disruptive]', 'e'], 2), {
    together: [['a', 'e'], ['c']],
    alone: ['b [Serial]', 'd [Disruptive]'],
  });
  t.deepEqual(divided(['a [Serial]'], 4), {together: [], alone: ['a [Serial]']});
});

test('the images that a test needs are those of its kind, in all versions that the suite names', t => {
  const registry = 'registry.k8s.io';
  const suite = ['agnhost:2.55', 'agnhost:2.59', 'busybox:1.37.0-1', 'nonewprivs:1.3', 'jessie-dnsutils:1.7'].map(
    name => `${registry}/e2e-test-images/${name}`,
  );
  const images = [...suite, `${registry}/pause:3.10.1`, 'gcr.io/k8s-authenticated-test/agnhost:2.6'];
  const present = new Set([
    `${registry}/e2e-test-images/agnhost:2.59`,
    `${registry}/e2e-test-images/busybox:1.37.0-1`,
    `${registry}/pause:3.10.1`,
  ]);
  t.deepEqual(missingImages('[sig-node] Pods should be updated', images, present), [suite[0]]);
  t.deepEqual(missingImages('[sig-network] DNS should provide DNS for services [Conformance]', images, present), [suite[0], suite[4]]);
  t.deepEqual(
    missingImages('[sig-network] DNS should support configurable pod DNS nameservers [Conformance]', images, new Set(images)),
    [],
  );
  t.deepEqual(missingImages('[sig-node] Security Context when creating containers with AllowPrivilegeEscalation x', images, present), [
    suite[0],
    suite[3],
  ]);
});

const spec = (text: string, State: string, Message?: string, LeafNodeType = 'It') => ({
  ContainerHierarchyTexts: ['[sig-x] group'],
  LeafNodeText: text,
  LeafNodeType,
  State,
  RunTime: 2e9,
  ...(Message ? {Failure: {Message}} : {}),
});

const names = ['one', 'two', 'three', 'four'].map(text => `[sig-x] group ${text}`);

test('outcomes are read from the report, and what it lacks has failed', t => {
  const report: Report = [
    {SpecReports: [spec('one', 'passed'), spec('two', 'failed', '\nfirst line\nsecond'), spec('three', 'skipped', 'needs two nodes')]},
  ];
  t.deepEqual(outcomesOf(names, report), [
    {name: names[0], state: 'passed', seconds: 2},
    {name: names[1], state: 'failed', seconds: 2, reason: 'first line'},
    {name: names[2], state: 'skipped', seconds: 2, reason: 'needs two nodes'},
    {name: names[3], state: 'failed', seconds: 0, reason: 'not in the report: the suite ended before'},
  ]);
});

test('tests that a broken setup kept from running have failed', t => {
  const report: Report = [{SpecReports: [spec('', 'failed', 'no nodes', 'SynchronizedBeforeSuite'), spec('one', 'skipped')]}];
  t.is(outcomesOf(names.slice(0, 1), report)[0]?.reason, 'not run: SynchronizedBeforeSuite: no nodes');
});

test('the summary counts by class, and names what did not pass', t => {
  const outcomes = outcomesOf(names, [
    {SpecReports: [spec('one', 'passed'), spec('two', 'failed', 'why'), spec('three', 'skipped', 'off'), spec('four', 'passed')]},
  ]);
  const runs = [{name: 'A' as const, outcomes, seconds: 8}];
  t.deepEqual(summary(runs).split('\n'), [
    'class        tests    passed    failed   skipped  no image      time',
    'A                4         2         1         1         0       8 s',
    'all              4         2         1         1         0       8 s',
    '',
    'failed: [sig-x] group two',
    '  why',
    'skipped: [sig-x] group three',
    '  off',
  ]);
  t.true(hasFailed(runs));
  t.false(hasFailed([{...runs[0]!, outcomes: outcomes.slice(2)}]));
});

test('what is missing or misspelt is said in words', t => {
  t.regex(suiteMissing(undefined) ?? '', /^E2E names no program; it is the original's end-to-end test program \(docs\/conformance\.md/);
  t.regex(suiteMissing('/nowhere/e2e.test') ?? '', /^there is no \/nowhere\/e2e\.test; /);
  t.is(suiteMissing(process.execPath), undefined);
  t.deepEqual(classesOf('c,A'), ['A', 'C']);
  t.throws(() => classesOf('A,F'), {message: 'CLASSES is a list of A, B, C, D, E, as CLASSES=A,B, not F'});
});
