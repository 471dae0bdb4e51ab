import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {createLog} from '#src/observe/log.js';
import {Verbosity} from '#src/observe/verbosity.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {aPlane} from '#test/controllers/plane.js';
import {settled, wire} from '#test/apiserver/wire.js';
import {aLevel, aSchema, aUser, queuing, startFair} from './environment.js';

const dumps = '/debug/api_priority_and_fairness';
const jane = aUser('jane');

test('a plane classifies its own components by their users, and its server is exempt', async t => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = createLog({clock, program: 'test', verbosity: new Verbosity(3), write: line => void lines.push(line)});
  await using plane = await aPlane({naming: 'kubernetes', isRestful: false, clock, log, nodes: 1});
  const {get} = wire(plane.api.handler);
  await plane
    .client()
    .resource(kinds.deployments)
    .create(
      {
        metadata: {name: 'web', namespace: 'default'},
        spec: {
          replicas: 1,
          selector: {matchLabels: {app: 'web'}},
          template: {metadata: {labels: {app: 'web'}}, spec: {containers: [{name: 'web', image: 'web'}]}},
        },
      },
      {namespace: 'default'},
    );
  await clock.advance(5000);

  const table = (await get(`${dumps}/dump_priority_levels`)).text.trim().split('\n');
  const dispatched = new Map(table.map(line => line.split(/, */)).map(cells => [cells[0], Number(cells[6])]));
  t.deepEqual([...dispatched.keys()].slice(1), [
    'catch-all',
    'exempt',
    'global-default',
    'leader-election',
    'node-high',
    'system',
    'workload-high',
    'workload-low',
  ]);
  for (const level of ['exempt', 'node-high', 'workload-high']) t.true(dispatched.get(level)! > 0, level);
  const {text} = await get('/metrics');
  for (const schema of ['kube-controller-manager', 'kube-scheduler', 'kube-system-service-accounts'])
    t.regex(text, new RegExp(`^apiserver_flowcontrol_dispatched_requests_total\\{.*flow_schema="${schema}"\\} [1-9]`, 'm'), schema);
  t.regex(text, /^apiserver_flowcontrol_nominal_limit_seats\{priority_level="workload-high"\} 98$/m);
  const request = lines.find(line => line.includes('"HTTP"') && line.includes('apf_pl="workload-high"'));
  t.regex(request ?? '', /apf_fs="[a-z-]+" apf_iseats=1 apf_fseats=\d+ apf_additionalLatency="\d+(ms|s)" apf_execution_time="/);
  t.is((await get('/')).json<{paths: string[]}>().paths.filter(path => path.startsWith('/debug/api')).length, 0);
});

test('the dumps need permission, and are there only with flow control', async t => {
  await using fair = await aPlane({naming: 'kubernetes', isRestful: false, controllers: []});
  await using plain = await aPlane({naming: 'kubernetes', controllers: [], apiserverArgs: ['--enable-priority-and-fairness=false']});
  const [with_, without] = [wire(fair.api.handler), wire(plain.api.handler)];

  t.is((await with_.get(`${dumps}/dump_queues`)).status, 200);
  t.is((await with_.get(`${dumps}/dump_queues`, {user: jane})).status, 403);
  t.is((await without.get(`${dumps}/dump_queues`)).status, 404);
  t.truthy((await with_.get('/version')).header('X-Kubernetes-PF-FlowSchema-UID'));
  t.truthy((await with_.get('/api/v1/pods', {user: jane})).header('X-Kubernetes-PF-PriorityLevel-UID'), 'a refusal has it too');
  t.is((await without.get('/version')).header('X-Kubernetes-PF-FlowSchema-UID'), undefined);
  t.regex((await with_.get('/readyz?verbose')).text, /priority-and-fairness-filter[^]*priority-and-fairness-config-consumer/);
  const checks = (await without.get('/readyz?verbose')).text;
  t.regex(checks, /max-in-flight-filter/);
  t.notRegex(checks, /priority-and-fairness-(filter|config-consumer)/);
  t.notRegex((await without.get('/metrics')).text, /apiserver_flowcontrol_(?!read_vs_write)/);
});

test('the dumps show the requests that are executed and those that wait', async t => {
  const {get, slow, clock, stop} = await startFair(10, {
    levels: [
      aLevel('narrow', {nominalConcurrencyShares: 5, limitResponse: queuing(2, 1, 5), borrowingLimitPercent: 0}),
      aLevel('rest', {nominalConcurrencyShares: 40}),
    ],
    schemas: [aSchema('to-narrow', 'narrow', 500)],
  });
  const all = [get('/slow/first', {user: jane}), get('/slow/second', {user: jane})];
  await settled(clock);
  const tableOf = async (what: string) => (await get(`${dumps}/dump_${what}`)).text.trimEnd().split('\n');

  t.deepEqual(
    (await tableOf('priority_levels')).filter(line => /^(Pri|narrow)/.test(line)),
    [
      'PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests',
      'narrow,            1,            false,  false,       1,               1,                 1,                  0,                0,                0',
    ],
  );
  t.deepEqual(
    (await tableOf('queues')).filter(line => line.startsWith('narrow') && !line.includes('0,               0,                 0')).length,
    1,
  );
  const requests = (await tableOf('requests?includeRequestDetails=true')).filter(line => line.startsWith('narrow'));
  t.deepEqual(
    requests.map(line => line.split(/, */)).map(cells => [cells[1], cells[3], cells[4], cells[9]!.slice(0, 4), ...cells.slice(10, 13)]),
    [
      ['to-narrow', '0', 'jane', '0001', 'jane', 'get', '/slow/second'],
      ['to-narrow', '-1', 'jane', '2026', 'jane', 'get', '/slow/first'],
    ],
  );
  for (const request of all) {
    slow.release();
    await request;
    await settled(clock);
  }
  stop();
});
