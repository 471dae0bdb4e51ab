import {writeFileSync} from 'node:fs';
import {createServer} from 'node:net';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import test, {type ExecutionContext} from 'ava';
import {ConfigMap, Lease, Secret} from '#src/operator/kinds.js';
import {managerFlags} from '#src/operator/program/flags.js';
import {variableOf, withEnvironment} from '#src/operator/program/environment.js';
import {parseAssignments} from '#src/options/parse.js';
import {startPlane} from '#src/plane/plane.js';
import {aDirectory, Program} from '#test/cli/programs.js';

const scripts = {
  maps: new URL('programs/maps.js', import.meta.url),
  spread: new URL('programs/spread.js', import.meta.url),
};
const ports = ['--health-probe-bind-address=127.0.0.1:0', '--metrics-bind-address=localhost:0', '--metrics-secure=false'];

/** A program by its flags and variables, which see nothing of this process's own settings. */
const aProgram = (
  t: ExecutionContext,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  name: keyof typeof scripts = 'maps',
): Program => {
  const program = new Program(fileURLToPath(scripts[name]), args, {KUBECONFIG: '', POD_NAMESPACE: '', ...env});
  t.teardown(() => program.stop('SIGKILL'));
  return program;
};

const aPlane = async (t: ExecutionContext) => {
  const plane = await startPlane({controllerManagerArgs: ['--controllers=namespace-controller']});
  t.teardown(() => plane.stop());
  const file = join(aDirectory(), 'kubeconfig');
  writeFileSync(file, plane.kubeconfig);
  const client = plane.client();
  const create = (name: string, namespace = 'default') => client.resource(ConfigMap).create({metadata: {name, namespace}, data: {}});
  const seen = async (name: string, namespace = 'default') => (await client.resource(ConfigMap).get(name, {namespace})).data?.['seen'];
  const [, context = ''] = /^current-context: (\S+)$/m.exec(plane.kubeconfig) ?? [];
  return {client, file, context, create, seen};
};

test('an operator reconciles with a kubeconfig, serves health and metrics, and ends its work and gives its lease back on SIGTERM', async t => {
  const {client, file, create, seen} = await aPlane(t);
  await create('given-first');
  const program = aProgram(t, [`--kubeconfig=${file}`, '--leader-elect', '--concurrency=2', ...ports], {POD_NAMESPACE: 'default'});
  await program.waitFor(/^ready: maps-operator against https:.* \(kubernetes naming\)$/m);
  while ((await seen('given-first')) !== 'yes') await new Promise(resolve => setTimeout(resolve, 20));
  t.truthy((await client.resource(Lease).get('maps-operator', {namespace: 'default'})).spec?.holderIdentity);

  const port = (flag: string) => new RegExp(`port=(\\d+) flags=\\["${flag}`).exec(program.stderr)?.[1] ?? program.stderr;
  const get = async (flag: string, path: string) => {
    const response = await fetch(`http://127.0.0.1:${port(flag)}${path}`);
    return {status: response.status, text: await response.text()};
  };
  t.deepEqual(await get('--health', '/healthz'), {status: 200, text: 'ok'});
  t.deepEqual(await get('--health', '/readyz/disk'), {status: 200, text: 'ok'});
  t.regex((await get('--health', '/readyz?verbose')).text, /^\[\+\]caches ok$/m);
  t.is((await get('--health', '/metrics')).status, 404);
  const {text: metrics} = await get('--metrics', '/metrics');
  for (const line of [
    /^begun_total 1$/m,
    /^controller_runtime_max_concurrent_reconciles\{controller="maps"\} 2$/m,
    /^controller_runtime_reconcile_total\{controller="maps",result="success"\} [1-9]/m,
    /^rest_client_requests_total\{code="200",.*method="GET",host=".*"\} [1-9]/m,
    /^leader_election_master_status\{name="maps-operator"\} 1$/m,
    /^process_cpu_seconds_total /m,
  ])
    t.regex(metrics, line);

  await create('given-last');
  while ((await seen('given-last')) !== 'yes') await new Promise(resolve => setTimeout(resolve, 20));
  t.is((await program.stop()).code, 0);
  t.is((await client.resource(Lease).get('maps-operator', {namespace: 'default'})).spec?.holderIdentity, '');
});

test('an operator takes its settings from the environment, and works in the given namespaces alone', async t => {
  const {client, file, create, seen} = await aPlane(t);
  await client.request('POST', '/api/v1/namespaces', {body: {metadata: {name: 'other'}}});
  await create('given-there', 'other');
  await create('given-here');
  const program = aProgram(t, ['--metrics-bind-address=0'], {
    KUBECONFIG: file,
    OPERATOR_NAMESPACES: 'default',
    OPERATOR_HEALTH_PROBE_BIND_ADDRESS: '127.0.0.1:0',
    OPERATOR_PORT: 'tcp://10.0.0.1:80',
    DISK: 'full',
  });
  await program.waitFor(/^ready: /m);
  while ((await seen('given-here')) !== 'yes') await new Promise(resolve => setTimeout(resolve, 20));
  const [, port] = /port=(\d+) flags=\["--health/.exec(program.stderr) ?? [];
  t.is((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 500);
  t.is(await seen('given-there', 'other'), undefined);
  t.is((await program.stop('SIGINT')).code, 0);
});

test('the controllers of an operator work in the clusters that it is given', async t => {
  const [hub, edge] = [await aPlane(t), await aPlane(t)];
  const without = await aProgram(t, [`--kubeconfig=${hub.file}`], {}, 'spread').ended();
  t.is(without.code, 1);
  t.is(without.stderr, 'spread-operator: controller spread watches the cluster "edge": give --cluster=edge=KUBECONFIG\n');

  const args = [`--kubeconfig=${hub.file}`, `--cluster=edge=${edge.file}@${edge.context}`, '--health-probe-bind-address=0'];
  const lost = await aProgram(t, [`--kubeconfig=${hub.file}`, `--cluster=edge=${edge.file}@nowhere`], {}, 'spread').ended();
  t.regex(lost.stderr, /^spread-operator: --cluster edge .*nowhere.*\n$/);
  const program = aProgram(t, args, {}, 'spread');
  await program.waitFor(/^ready: /m);
  t.truthy(await edge.client.get(ConfigMap, {namespace: 'default', name: 'begun'}));
  await hub.create('given');
  await edge.client.apply(Secret, {metadata: {name: 'there', namespace: 'default'}});
  const seen = async () => (await hub.client.get(Secret, {namespace: 'default', name: 'seen'}))?.data?.['there'] ?? '';
  while (!atob(await seen()).includes('there')) await new Promise(resolve => setTimeout(resolve, 20));
  t.truthy(await edge.client.get(ConfigMap, {namespace: 'default', name: 'given'}));
  t.is((await program.stop()).code, 0);
});

test('invalid settings end an operator with one line that names the flag, the variable or the file, and code 1', async t => {
  const taken = createServer().listen(0, '127.0.0.1');
  t.teardown(() => void taken.close());
  await new Promise(resolve => taken.once('listening', resolve));
  const cases: readonly [readonly string[], Readonly<Record<string, string>>, RegExp][] = [
    [['--concurency=3'], {}, /^maps-operator: unknown flag: --concurency \(did you mean --concurrency\?\)\n$/],
    [['--concurrency=many'], {}, /^maps-operator: .*--concurrency.*whole number\n$/],
    [[], {OPERATOR_CONCURRENCY: 'many'}, /^maps-operator: OPERATOR_CONCURRENCY: .*whole number\n$/],
    [['--health-probe-bind-address=8081'], {}, /^maps-operator: .*--health-probe-bind-address.*must be 0.*or HOST:PORT.*\n$/],
    [['--cluster=edge'], {}, /^maps-operator: .*--cluster.*"edge" is not NAME=KUBECONFIG, .*\n$/],
    [['--namespaces=Default'], {}, /^maps-operator: .*--namespaces.*"Default" is not the name of a namespace\n$/],
    [
      ['--leader-elect', '--leader-elect-lease-duration=5s'],
      {},
      /^maps-operator: --leader-elect-lease-duration must be greater than .*\n$/,
    ],
    [[], {}, /^maps-operator: neither --kubeconfig nor --master was given, and this is not a pod of a cluster.*\n$/],
    [['--kubeconfig=/nowhere'], {}, /^maps-operator: --kubeconfig \/nowhere: .*no such file.*\n$/],
    [[], {KUBECONFIG: '/nowhere'}, /^maps-operator: KUBECONFIG \/nowhere: .*no such file.*\n$/],
    [['now'], {}, /^maps-operator: maps-operator does not take any arguments, got "now"\n$/],
  ];
  const ended = await Promise.all(cases.map(([args, env]) => aProgram(t, args, env).ended()));
  for (const [at, [args, env, line]] of cases.entries()) {
    const {code, stderr} = ended[at]!;
    t.is(code, 1, JSON.stringify([args, env]));
    t.regex(stderr, line);
  }
});

test('a port that is in use ends an operator with one line, and a lease outside of a pod is in the namespace default', async t => {
  const {client, file} = await aPlane(t);
  const taken = createServer().listen(0, '127.0.0.1');
  t.teardown(() => void taken.close());
  await new Promise(resolve => taken.once('listening', resolve));
  const {port} = taken.address() as {port: number};
  const homeless = aProgram(t, [`--kubeconfig=${file}`, '--leader-elect', '--health-probe-bind-address=0']);
  const busy = await aProgram(t, [`--kubeconfig=${file}`, `--health-probe-bind-address=127.0.0.1:${port}`]).ended();
  t.is(busy.code, 1);
  t.regex(
    busy.stderr,
    new RegExp(
      `\\nmaps-operator: cannot listen on 127.0.0.1:${port} \\(--health-probe-bind-address\\): the port is in use already.*\\n$|^maps-operator: cannot listen on .*`,
      'm',
    ),
  );
  await homeless.waitFor(/^ready: /m);
  t.truthy((await client.get(Lease, {namespace: 'default', name: 'maps-operator'}))?.spec?.holderIdentity);
  t.is((await homeless.stop()).code, 0);
});

test('help lists every flag with its default, and every flag has a variable', async t => {
  const {code, stdout} = await aProgram(t, ['--help']).ended();
  t.is(code, 0);
  t.regex(stdout, /^Runs the controllers maps\.\n\nUsage:\n  maps-operator \[flags\]/);
  const table = managerFlags('maps-operator', '');
  for (const flag of Object.keys(table.rows)) t.true(stdout.includes(`--${flag}`), flag);
  t.is(variableOf('leader-elect'), 'OPERATOR_LEADER_ELECT');
});

test('a flag takes precedence over its variable, also for lists', t => {
  const table = managerFlags('maps-operator', '');
  const env = {
    OPERATOR_NAMESPACES: 'a,b',
    OPERATOR_CONCURRENCY: '4',
    OPERATOR_LEADER_ELECT: 'true',
    OPERATOR_HELP: 'true',
    OPERATOR_QPS: '',
  };
  const {options, help} = parseAssignments(table, withEnvironment(table, ['--namespaces=c', '--leader-elect=false'], env));
  t.like(options, {namespaces: ['c'], concurrency: 4, leaderElect: false, qps: 20});
  t.false(help);
});
