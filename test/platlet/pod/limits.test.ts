import test from 'ava';
import {backoffTexts, isBackingOff, nextBackoff, reducedCrashLoopLimits, type Backoff} from '#src/platlet/pod/backoff.js';
import {activeDeadline} from '#src/platlet/pod/deadline.js';
import {
  containerGraceSeconds,
  killLimitMs,
  podGraceSeconds,
  stopSeconds,
  stopsAfter,
  terminationGraceSeconds,
} from '#src/platlet/pod/kill.js';
import {
  afterProbe,
  firstSuccessMs,
  initialProbeState,
  isProbingOver,
  type ProbeKind,
  type ProbeResult,
} from '#src/platlet/pod/probe-results.js';
import {limitedMessage, terminationMessage, wantsLog} from '#src/platlet/pod/termination-message.js';
import {aPod, aRun} from './objects.js';

test('a backoff doubles from ten seconds to five minutes, and begins anew after ten quiet minutes', t => {
  let backoff: Backoff | undefined;
  const delays: number[] = [];
  for (let failure = 0; failure < 7; failure++) {
    backoff = nextBackoff(backoff, failure * 300_000);
    delays.push(backoff.delayMs / 1000);
  }
  t.deepEqual(delays, [10, 20, 40, 80, 160, 300, 300]);
  const since = backoff!.since;
  t.is(nextBackoff(backoff, since + 600_000).delayMs, 300_000);
  t.is(nextBackoff(backoff, since + 600_001).delayMs, 10_000);
  t.is(nextBackoff(nextBackoff(undefined, 0, 0, reducedCrashLoopLimits), 0, 0, reducedCrashLoopLimits).delayMs, 2_000);
});

test('a container backs off from its end until the delay is over', t => {
  t.false(isBackingOff(undefined, 0, 0));
  t.true(isBackingOff({delayMs: 10_000, since: 0}, 5_000, 14_999));
  t.false(isBackingOff({delayMs: 10_000, since: 0}, 5_000, 15_000));
  t.false(isBackingOff({delayMs: 10_000, since: 0}, 700_000, 700_001));
  t.deepEqual(backoffTexts(aPod(), 'app', {delayMs: 80_000}), {
    event: 'Back-off restarting failed container app in pod pod_default(u)',
    message: 'back-off 1m20s restarting failed container=app pod=pod_default(u)',
  });
});

test('a probe changes the result after as many equal results as its threshold says', t => {
  const results = (kind: ProbeKind, ...outcomes: readonly ProbeResult[]) => {
    let state = initialProbeState(kind);
    const seen = [state.result];
    for (const outcome of outcomes) seen.push((state = afterProbe(state, outcome, {successThreshold: 2, failureThreshold: 2})).result);
    return seen.join(' ');
  };
  t.is(
    results('readiness', 'success', 'success', 'failure', 'success', 'failure', 'failure'),
    'failure failure success success success success failure',
  );
  t.is(results('liveness', 'failure', 'unknown', 'failure'), 'success success success failure');
  t.is(results('startup', 'success', 'success'), 'unknown unknown success');
  t.true(isProbingOver('liveness', {result: 'failure', inRow: 3}));
  t.false(isProbingOver('liveness', {result: 'success', inRow: 1}));
  t.true(isProbingOver('startup', {result: 'success', inRow: 1}));
  t.false(isProbingOver('readiness', {result: 'failure', inRow: 9}));
  t.is(firstSuccessMs({initialDelaySeconds: 5, periodSeconds: 4, successThreshold: 2}), 9_000);
});

test('a grace period is that of the deletion, of the probe, or of the pod, and gets only shorter', t => {
  t.is(podGraceSeconds(aPod()), 30);
  t.is(podGraceSeconds(aPod({terminationGracePeriodSeconds: 7})), 7);
  t.is(podGraceSeconds(aPod({terminationGracePeriodSeconds: 7}, {deletionGracePeriodSeconds: 3})), 3);
  const container = {name: 'app', livenessProbe: {terminationGracePeriodSeconds: 4}, startupProbe: {terminationGracePeriodSeconds: 5}};
  t.is(containerGraceSeconds(aPod(), container, 'liveness'), 4);
  t.is(containerGraceSeconds(aPod(), container, 'startup'), 5);
  t.is(containerGraceSeconds(aPod(), container, 'changed'), 30);
  t.is(terminationGraceSeconds(aPod({}, {deletionGracePeriodSeconds: 0})), 1);
  t.is(terminationGraceSeconds(aPod(), 0), 1);
  t.is(terminationGraceSeconds(aPod(), undefined, 5), 5);
  t.is(terminationGraceSeconds(aPod({}, {deletionGracePeriodSeconds: 3}), undefined, 5), 3);
  t.is(terminationGraceSeconds(aPod(), 10, 3), 3);
  t.is(stopSeconds(30, 10_000), 20);
  t.is(stopSeconds(30, 29_500), 2);
  t.is(killLimitMs(1), 10_000);
  t.is(killLimitMs(30), 45_000);
});

test('a sidecar stops after the regular containers and the sidecars that came later', t => {
  const {spec} = aPod({
    initContainers: [{name: 'i'}, {name: 'first', restartPolicy: 'Always'}, {name: 'second', restartPolicy: 'Always'}],
  });
  t.deepEqual(stopsAfter(spec!, 'app'), []);
  t.deepEqual(stopsAfter(spec!, 'i'), []);
  t.deepEqual(stopsAfter(spec!, 'second'), ['app']);
  t.deepEqual(stopsAfter(spec!, 'first'), ['second', 'app']);
});

test('a pod may be active for so long from its start', t => {
  t.is(activeDeadline(aPod(), 5), Infinity);
  t.is(activeDeadline(aPod({activeDeadlineSeconds: 2}), 5), 2_005);
});

test('a termination message is the file, or the end of the log, within limits', t => {
  const run = aRun('app', 1);
  t.true(wantsLog({name: 'app', terminationMessagePolicy: 'FallbackToLogsOnError'}, run, ''));
  t.false(wantsLog({name: 'app', terminationMessagePolicy: 'FallbackToLogsOnError'}, run, 'said'));
  t.false(wantsLog({name: 'app', terminationMessagePolicy: 'FallbackToLogsOnError'}, aRun('app', 0), ''));
  t.false(wantsLog({name: 'app', terminationMessagePolicy: 'File'}, run, ''));
  t.is(terminationMessage(run, 'said', 'log'), 'said');
  t.is(terminationMessage(run, '', 'log'), 'log');
  t.is(terminationMessage({message: 'runtime'}, 'said', undefined), 'runtime: said');
  t.is(terminationMessage({message: 'runtime'}, '', undefined), 'runtime');
  t.is(terminationMessage(run, 'x'.repeat(5_000), undefined).length, 4_096);
  t.is(terminationMessage(run, '', 'x'.repeat(5_000)).length, 2_048);
  t.is(terminationMessage(run, '', Array.from({length: 200}, (_, i) => `${i}`).join('\n')).split('\n').length, 81);
  t.is(terminationMessage(run, `${'x'.repeat(4_095)}é`, undefined), 'x'.repeat(4_095));
  t.is(limitedMessage('x'.repeat(9_000), 2).length, 6_144);
});
