import test from 'ava';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {printable} from '#src/base/text/printable.js';
import {documentsWithLines} from '#src/base/yaml/field-lines.js';
import {ServedKinds} from '#src/client/served-kinds.js';
import {loadOf, loadsIn} from '#src/cli/forecast/load.js';
import {differenceReport, textReport} from '#src/cli/forecast/report.js';
import {forecast, type RunOptions} from '#src/cli/forecast/run.js';
import {readCluster, type Source} from '#src/cli/forecast/source.js';
import {difference, Timeline} from '#src/cli/forecast/timeline.js';
import {createAuthority, authorityPem} from '#src/pki/authority.js';
import {certificatePem} from '#src/pki/certificate.js';
import {issueClientCertificate} from '#src/pki/issuing.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createSigningRequest} from '#src/pki/signing-request.js';
import {aPlane} from '#test/controllers/plane.js';
import {aDirectory} from '#test/cli/programs.js';
import {writeFileSync} from 'node:fs';
import {join} from 'node:path';

const hour = 3_600_000;
/** An hour before the clocks in Berlin go from 02:00 to 03:00. */
const start = '2026-03-29T00:00:00Z';

const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');

const aCronJob = (name: string, schedule: string, more = '', job = '') => `
apiVersion: batch/v1
kind: CronJob
metadata: {name: ${name}}
spec:
  schedule: "${schedule}"
  timeZone: Europe/Berlin
  ${more}
  jobTemplate:
    spec:
      ${job}
      template: {spec: {restartPolicy: Never, containers: [{name: a, image: a, resources: {requests: {cpu: 100m}}}]}}
`;

const aDeployment = (name: string, replicas: number) => `
apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: ${name}}}
  template: {metadata: {labels: {app: ${name}}}, spec: {containers: [{name: a, image: a, resources: {requests: {cpu: 100m}}}]}}
`;

const world = async (): Promise<string> => {
  const {certificate} = authorityPem(
    createAuthority(await generatePrivateKey(), {commonName: 'a', now: Date.parse(start), lifetimeMs: 2 * hour}),
  );
  return [
    aCronJob('daily', '30 3 * * *'),
    aCronJob('skipped', '30 2 * * *'),
    aCronJob('quarterly', '*/15 * * * *', 'concurrencyPolicy: Forbid', 'ttlSecondsAfterFinished: 60'),
    aDeployment('web', 2),
    `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 9
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 100}}}]
`,
    'apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: pods}\nspec: {hard: {pods: "6"}}\n',
    `apiVersion: v1
kind: Secret
metadata: {name: bootstrap-token-abcdef, namespace: kube-system}
type: bootstrap.kubernetes.io/token
data: {token-id: ${base64('abcdef')}, token-secret: ${base64('0123456789abcdef')}, expiration: ${base64('2026-03-29T00:20:00Z')}}
`,
    `apiVersion: v1
kind: Secret
metadata: {name: tls}
type: kubernetes.io/tls
data: {tls.crt: ${base64(certificate)}, tls.key: ${base64('secret')}}
`,
    'apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: checks}\n',
  ].join('---\n');
};

/** Reads a plane with the objects, and its objects again after `act`, without the changes of its own controllers. */
const copied = async (act: (source: Source) => Promise<void>): Promise<readonly [before: string, after: string]> => {
  const controllers = [
    'serviceaccount-controller',
    'node-lifecycle-controller',
    'deployment-controller',
    'replicaset-controller',
    'resourcequota-controller',
  ];
  const plane = await aPlane({naming: 'kubernetes', controllers, nodes: 1, clock: new VirtualClock(Date.parse(start) - 60_000)});
  const client = plane.api.clientAs({name: 'admin', groups: ['system:masters', 'system:authenticated']}, 'test');
  for (const {value} of documentsWithLines(await world())) {
    const object = value as KubeObject & {apiVersion: string; kind: string};
    const kind: Kind = await new ServedKinds(client).of(object);
    await client.resource(kind).create({...object, metadata: {...(kind.namespaced ? {namespace: 'default'} : {}), ...object.metadata}});
  }
  await plane.clock.advance(60_000);
  const read = () => readCluster(client, plane.clock.now());
  const text = ({objects}: Source) => JSON.stringify([...objects].sort(([a], [b]) => (a < b ? -1 : 1)));
  const source = await read();
  await act(source);
  const after = text(await read());
  await plane.stop();
  return [text(source), after];
};

let source: Source;
let same: readonly [string, string];
let plain: Timeline;
let loaded: Timeline;
let changed: Timeline;
const settings: RunOptions = {forMs: 2 * hour, loads: [], jobTimes: new Map(), apply: [], signal: new AbortController().signal};

test.before(async () => {
  const file = join(aDirectory(), 'change.yaml');
  writeFileSync(file, aDeployment('more', 3) + '---' + aCronJob('daily', '45 3 * * *'));
  same = await copied(async read => {
    source = read;
    const jobTimes = new Map([['default/quarterly', 20 * 60_000]]);
    plain = await forecast(read, {...settings, jobTimes});
    changed = await forecast(read, {...settings, jobTimes, apply: [file]});
    loaded = await forecast(read, {
      ...settings,
      forMs: hour / 2,
      loads: loadsIn('deployment/web: [{cpu: 100m}, {after: 10m, cpu: 700m}]', 'default'),
    });
  });
});

const told = (timeline: Timeline, object: string): string[] =>
  timeline.all
    .filter(each => each.object === object)
    .map(
      ({what, count, first, because}) => `${new Date(first).toISOString().slice(11, 19)} ${what} x${count}${because ? `: ${because}` : ''}`,
    );

test('cron jobs run by the clocks of their zones, also when those are set forward', t => {
  t.deepEqual(told(plain, 'CronJob default/daily'), ['01:30:00 runs x1: schedule 30 3 * * * in the zone Europe/Berlin']);
  t.deepEqual(told(plain, 'CronJob default/skipped'), []);
});

test('runs that the concurrency policy forbids, and jobs whose time to live is over, are told and folded', t => {
  const [runs, ...others] = told(plain, 'CronJob default/quarterly');

  t.regex(runs ?? '', /^00:00:00 runs x6: schedule \*\/15/);
  t.true(
    others.some(each => /JobAlreadyActive x\d+: .*concurrency policy is Forbid/.test(each)),
    others.join(),
  );
  t.true(
    others.some(each => /loses a finished job x5: ttlSecondsAfterFinished 60 is over/.test(each)),
    others.join(),
  );
});

test('tokens and certificates that expire are told, without their content', t => {
  t.deepEqual(told(plain, 'Secret kube-system/bootstrap-token-abcdef'), ['00:20:00 expires x1: the bootstrap token has an expiration']);
  t.deepEqual(told(plain, 'Secret default/tls'), ['02:00:00 has a certificate that expires x1: nothing in the forecast renews it']);
  t.notRegex(JSON.stringify(plain.all), /c2VjcmV0|0123456789abcdef/);
});

test('a load that grows scales a workload, until a quota is used up', t => {
  t.deepEqual(
    told(loaded, 'Deployment default/web')
      .slice(0, 2)
      .map(each => each.slice(9)),
    ['is scaled from 2 to 4 x1', 'is scaled from 4 to 7 x1'],
  );
  t.true(told(loaded, 'Deployment default/web').every(each => each.startsWith('00:1')));
  t.regex(told(loaded, 'ResourceQuota default/pods')[0] ?? '', /is used up x\d: pods: 6 of 6/);
});

test('a change is told by what happens only with it, and at other times', t => {
  const report = differenceReport(
    {from: source.at, until: source.at + 2 * hour, objects: 1, notes: []},
    difference(plain.all, changed.all),
  );

  t.true(
    report.some(line => /ResourceQuota default\/pods is used up/.test(line)),
    report.join('\n'),
  );
  t.true(
    report.some(line => /T01:45:00Z {2}CronJob default\/daily runs: .*\(without it: 1 times, first at 2026-03-29T01:30:00Z\)/.test(line)),
    report.join('\n'),
  );
  t.false(report.some(line => line.includes('quarterly runs')));
});

test('the original is only read, and what is left out is said', t => {
  t.is(same[0], same[1]);
  t.deepEqual(source.notes, ['validating webhooks are left out: checks']);
  t.false([...source.objects.values()].some(({kind}) => kind === 'Lease' || kind === 'Event'));
});

test('a report is a line for each thing in order, and a summary by kind', t => {
  const lines = textReport({from: source.at, until: source.at + 2 * hour, objects: 9, notes: source.notes}, plain);

  t.deepEqual(lines.slice(0, 3), [
    'from 2026-03-29T00:00:00Z until 2026-03-29T02:00:00Z, with a copy of 9 objects',
    'Not in it: validating webhooks are left out: checks.',
    '',
  ]);
  t.true(lines.includes('2026-03-29T01:30:00Z  CronJob default/daily runs: schedule 30 3 * * * in the zone Europe/Berlin'));
  t.regex(lines.at(-1) ?? '', /^\w+ \(\d\): /);
});

test('what an object says of itself cannot move the cursor of the terminal', t => {
  const said = new Timeline();
  said.add({at: 0, object: 'Pod default/a', what: 'Killed\u001b[2J', because: '\u001b]0;title\u0007 \u009b1A'});
  const about = {from: 0, until: hour, objects: 1, notes: []};
  const lines = [...textReport(about, said), ...differenceReport(about, {onlyWith: said.all, onlyWithout: [], changed: []})];

  t.true(lines.includes(String.raw`1970-01-01T00:00:00Z  Pod default/a Killed\x1b[2J: \x1b]0;title\x07 \x9b1A`));
  t.deepEqual(
    lines.filter(line => printable(line) !== line),
    [],
  );
});

test('loads are refused with what is wrong about them', t => {
  t.throws(() => loadOf('web', 'default'), {message: '--load: "web" has not the form KIND/[NAMESPACE/]NAME=cpu:AMOUNT[,memory:AMOUNT]'});
  t.throws(() => loadOf('web=cpu:1', 'default'), {message: '--load: "web" names no workload, as KIND/[NAMESPACE/]NAME'});
  t.throws(() => loadOf('deployment/web=cpu:x', 'default'), {message: '--load: deployment/web=cpu:x: "x" is no quantity'});
  t.throws(() => loadsIn('deployment/web: [{after: soon, cpu: 1}]', 'default'), {
    message: '--load-file: deployment/web: after: "soon" is no duration',
  });
});

/** The source with other objects, by their keys. */
const withObjects = (change: (objects: Map<string, KubeObject>) => void): Source => {
  const objects = new Map(source.objects);
  change(objects);
  return {...source, objects};
};

const nodeKey = (): string => [...source.objects].find(([, {kind}]) => kind === 'Node')![0];

test('pods are evicted from a node with a taint, at once or when their tolerations end', async t => {
  const taint = {key: 'maintenance', effect: 'NoExecute'};
  const toleration = {key: 'maintenance', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1800};
  const tainted = withObjects(objects => {
    const node = objects.get(nodeKey())!;
    objects.set(nodeKey(), {...node, spec: {taints: [taint]}} as KubeObject);
    const [key, pod] = [...objects].find(([, {kind}]) => kind === 'Pod')!;
    const {spec, status, metadata} = pod as KubeObject & {spec: object; status: object};
    const {ownerReferences: _, ...own} = {...metadata, name: 'guarded', uid: 'guarded', labels: {}};
    objects.set(key.replace(metadata!.name!, 'guarded'), {
      ...pod,
      metadata: own,
      spec: {...spec, tolerations: [toleration]},
      status,
    } as KubeObject);
  });
  const timeline = await forecast(tainted, {...settings, forMs: hour});
  const evictions = (object: string) => told(timeline, object).filter(each => /disrupted/.test(each));

  const web = timeline.all.find(({object, what}) => object.startsWith('Pod default/web-') && what === 'is disrupted');
  t.like(web, {first: source.at, because: 'DeletionByTaintManager: Taint manager: deleting due to NoExecute taint'});
  t.regex(evictions('Pod default/guarded').join(), /^00:30:0\d is disrupted x1: DeletionByTaintManager/);
});

test('a load of memory scales a workload whose autoscaler looks at memory', async t => {
  const byMemory = withObjects(objects => {
    for (const [key, object] of objects) {
      if (object.kind !== 'HorizontalPodAutoscaler') continue;
      const target = {type: 'AverageValue', averageValue: '128Mi'};
      const spec = {...(object as KubeObject & {spec: object}).spec, metrics: [{type: 'Resource', resource: {name: 'memory', target}}]};
      objects.set(key, {...object, spec} as KubeObject);
    }
  });
  const loads = loadsIn('deployment/web: [{memory: 200Mi}, {after: 10m, memory: 600Mi}]', 'default');
  const timeline = await forecast(byMemory, {...settings, forMs: hour / 2, loads});

  t.deepEqual(
    told(timeline, 'Deployment default/web').map(each => each.replace(/^00:1\d:\d\d /, '')),
    ['is scaled from 2 to 4 x1', 'is scaled from 4 to 5 x1'],
  );
});

test('nodes renew their certificates before these end, as far as the controllers issue new ones', async t => {
  const authority = createAuthority(await generatePrivateKey(), {commonName: 'a', now: Date.parse(start), lifetimeMs: 100 * hour});
  const node = source.objects.get(nodeKey())!.metadata!.name!;
  const aRequest = async (name: string, signer: string, user: string, usage: string): Promise<KubeObject> => {
    const {chain, key} = await issueClientCertificate(authority, {
      now: Date.parse(start),
      lifetimeMs: hour,
      commonName: user,
      organizations: ['system:nodes'],
    });
    const names = usage === 'server auth' ? {dnsNames: ['node'], ipAddresses: []} : {};
    const request = base64(createSigningRequest(key, {subject: {commonName: user, organizations: ['system:nodes']}, ...names}));
    const spec = {request, signerName: `kubernetes.io/${signer}`, usages: ['digital signature', usage], username: user};
    const conditions = [{type: 'Approved', status: 'True', lastUpdateTime: start}];
    const status = {certificate: base64(certificatePem(chain[0]!)), conditions};
    const metadata = {name, uid: name, creationTimestamp: start};
    return {kind: 'CertificateSigningRequest', apiVersion: 'certificates.k8s.io/v1', metadata, spec, status} as KubeObject;
  };
  const requests = await Promise.all([
    aRequest('own', 'kube-apiserver-client-kubelet', `system:node:${node}`, 'client auth'),
    aRequest('serving', 'kubelet-serving', `system:node:${node}`, 'server auth'),
    aRequest('gone', 'kube-apiserver-client-kubelet', 'system:node:gone', 'client auth'),
  ]);
  const roleRef = {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    name: 'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient',
  };
  const binding = {
    kind: 'ClusterRoleBinding',
    apiVersion: 'rbac.authorization.k8s.io/v1',
    metadata: {name: 'renewals', uid: 'renewals', creationTimestamp: start},
    roleRef,
    subjects: [{kind: 'Group', name: 'system:nodes', apiGroup: roleRef.apiGroup}],
  };
  const timeline = await forecast(
    withObjects(objects => {
      for (const each of requests) objects.set(`/registry/certificatesigningrequests/${each.metadata!.name}`, each);
      objects.set('/registry/clusterrolebindings/renewals', binding as unknown as KubeObject);
    }),
    settings,
  );

  t.deepEqual(told(timeline, `Node ${node}`).sort(), [
    '00:47:00 does not get a new serving certificate x1: nobody approves its request, as far as the controllers go',
    '00:47:00 renews its client certificate x1: 80 % of its lifetime are over',
  ]);
  t.deepEqual(
    timeline.all.filter(({what}) => what.includes('certificate that expires')).map(({object}) => object),
    ['CertificateSigningRequest gone', 'Secret default/tls'],
  );
});
