import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {problems, startEnvironment} from './environment.js';
import {aPod, gate, start, withContainer} from './pods.js';

test('a pod is created pending, with every default and its quality class', async t => {
  const {pods} = await start();
  const made = await pods.create(aPod());

  t.is(made.metadata?.generation, 1);
  t.deepEqual(made.status, {phase: 'Pending', qosClass: 'BestEffort'});
  t.deepEqual(made.spec, {
    containers: [
      {
        name: 'c',
        image: 'nginx',
        resources: {},
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
        imagePullPolicy: 'Always',
      },
    ],
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    securityContext: {},
    schedulerName: 'default-scheduler',
    enableServiceLinks: true,
  });
});

for (const [image, policy] of [
  ['nginx', 'Always'],
  ['nginx:latest', 'Always'],
  ['nginx:1.27', 'IfNotPresent'],
  ['reg.example:5000/a/b', 'Always'],
  ['reg.example:5000/a/b:v1', 'IfNotPresent'],
  [`nginx@sha256:${'a'.repeat(64)}`, 'IfNotPresent'],
  [`nginx:latest@sha256:${'a'.repeat(64)}`, 'Always'],
] as const) {
  test(`the image ${image.slice(0, 30)} is pulled ${policy}`, async t => {
    const {pods} = await start();
    const made = await pods.create(withContainer({image}));

    t.is(made.spec?.containers[0]?.imagePullPolicy, policy);
  });
}

for (const [name, resources, quality] of [
  ['nothing', {}, 'BestEffort'],
  ['requests', {requests: {cpu: '1'}}, 'Burstable'],
  ['limits of both', {limits: {cpu: '1', memory: '1Gi'}}, 'Guaranteed'],
  ['a limit of one', {limits: {cpu: '1'}}, 'Burstable'],
  ['more limits than requests', {limits: {cpu: '1', memory: '1Gi'}, requests: {cpu: '500m'}}, 'Burstable'],
] as const) {
  test(`a pod with ${name} is ${quality}`, async t => {
    const {pods} = await start();

    t.is((await pods.create(withContainer({resources}))).status?.qosClass, quality);
  });
}

test('limits default requests, and quantities are rounded up to thousandths', async t => {
  const {pods} = await start();
  const made = await pods.create(withContainer({resources: {limits: {cpu: '1500u', memory: '64Mi'}}}));

  t.deepEqual(made.spec?.containers[0]?.resources, {limits: {cpu: '2m', memory: '64Mi'}, requests: {cpu: '2m', memory: '64Mi'}});
});

test('probes, ports, volumes and references get their defaults', async t => {
  const {pods} = await start();
  const made = await pods.create(
    aPod({
      hostNetwork: true,
      serviceAccountName: 'robot',
      containers: [
        {
          name: 'c',
          image: 'nginx:1',
          ports: [{containerPort: 80}],
          livenessProbe: {httpGet: {port: 80}},
          readinessProbe: {grpc: {port: 80}},
          lifecycle: {},
          env: [
            {name: 'NAME', valueFrom: {fieldRef: {fieldPath: 'metadata.name'}}},
            {name: 'CPU', valueFrom: {resourceFieldRef: {resource: 'limits.cpu'}}},
          ],
        },
      ],
      volumes: [
        {name: 'bare'},
        {name: 'secret', secret: {secretName: 's'}},
        {name: 'host', hostPath: {path: '/x'}},
        {name: 'all', projected: {sources: [{serviceAccountToken: {path: 'token'}}]}},
        {name: 'none', projected: {} as never},
        {name: 'rbd', rbd: {monitors: ['m'], image: 'i', secretRef: {name: ''}}},
        {name: 'iscsi', iscsi: {targetPortal: 'p', iqn: 'iqn.2001-04.com.example:a', lun: 0}},
        {name: 'azure', azureDisk: {diskName: 'd', diskURI: 'https://blob.core.windows.net/a/b.vhd'}},
        {name: 'scale', scaleIO: {gateway: 'g', system: 's', volumeName: 'v'} as never},
      ],
    }),
  );
  const [container] = made.spec!.containers;

  t.deepEqual(container?.ports, [{containerPort: 80, hostPort: 80, protocol: 'TCP'}]);
  t.deepEqual(container?.livenessProbe, {
    httpGet: {path: '/', port: 80, scheme: 'HTTP'},
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  });
  t.deepEqual(container?.readinessProbe?.grpc, {port: 80, service: ''});
  t.deepEqual(container?.lifecycle, {});
  t.deepEqual(
    container?.env?.map(({valueFrom}) => valueFrom),
    [{fieldRef: {apiVersion: 'v1', fieldPath: 'metadata.name'}}, {resourceFieldRef: {divisor: '0', resource: 'limits.cpu'}}],
  );
  t.is(made.spec?.serviceAccount, 'robot');
  t.deepEqual(made.spec?.volumes, [
    {name: 'bare', emptyDir: {}},
    {name: 'secret', secret: {secretName: 's', defaultMode: 420}},
    {name: 'host', hostPath: {path: '/x', type: ''}},
    {name: 'all', projected: {defaultMode: 420, sources: [{serviceAccountToken: {path: 'token', expirationSeconds: 3600}}]}},
    {name: 'none', projected: {defaultMode: 420, sources: null}},
    {name: 'rbd', rbd: {monitors: ['m'], image: 'i', secretRef: {}, pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring'}},
    {name: 'iscsi', iscsi: {targetPortal: 'p', iqn: 'iqn.2001-04.com.example:a', lun: 0, iscsiInterface: 'default'}},
    {
      name: 'azure',
      azureDisk: {
        diskName: 'd',
        diskURI: 'https://blob.core.windows.net/a/b.vhd',
        cachingMode: 'ReadWrite',
        kind: 'Shared',
        fsType: 'ext4',
        readOnly: false,
      },
    },
    {name: 'scale', scaleIO: {gateway: 'g', system: 's', volumeName: 'v', secretRef: null, storageMode: 'ThinProvisioned', fsType: 'xfs'}},
  ] as never);
});

for (const [image, policy] of [
  ['a', 'Always'],
  ['a:latest', 'Always'],
  ['docker.io/a/b', 'Always'],
  [`${'a'.repeat(247)}`, 'Always'],
  [`${'a'.repeat(248)}`, 'IfNotPresent'],
  [`${'a'.repeat(64)}`, 'IfNotPresent'],
  ['Upper/case', 'Always'],
  ['Upper', 'IfNotPresent'],
  [`a:latest@sha256:${'0'.repeat(64)}`, 'Always'],
  [`a:latest@sha256:${'0'.repeat(32)}`, 'IfNotPresent'],
  [`a@sha256:${'0'.repeat(64)}`, 'IfNotPresent'],
] as const) {
  test(`the image ${image.length > 60 ? `${image.slice(0, 30)} of ${image.length}` : image} is pulled ${policy}`, async t => {
    const {pods} = await start();

    t.is((await pods.create(withContainer({image}))).spec?.containers[0]?.imagePullPolicy, policy);
  });
}

test('the grace period of a pod is at least a second, that of a template is kept', async t => {
  const {pods, of} = await start();
  const template = {
    metadata: {name: 't', namespace: 'default'},
    template: {spec: {containers: [{name: 'c', image: 'nginx'}], terminationGracePeriodSeconds: -1}},
  };

  t.is((await pods.create(aPod({terminationGracePeriodSeconds: -1}))).spec?.terminationGracePeriodSeconds, 1);
  t.is((await of(kinds.podTemplates).create(template)).template?.spec?.terminationGracePeriodSeconds, -1);
});

test("privileged containers need the server's leave", async t => {
  const env = await startEnvironment({gate, allowPrivileged: false});

  t.deepEqual(await problems(env.of(kinds.pods).create(withContainer({securityContext: {privileged: true}}))), [
    'spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy',
  ]);
});

test('a gated pod has a condition, may narrow its node affinity, and loses its gates', async t => {
  const {pods, row} = await start();
  const made = await pods.create(aPod({schedulingGates: [{name: 'example.com/wait'}]}));
  t.is(made.status?.conditions?.[0]?.reason, 'SchedulingGated');
  t.is((await row(kinds.pods, made))['Status'], 'SchedulingGated');

  const narrowed = await pods.update({...made, spec: {...made.spec!, nodeSelector: {disk: 'ssd'}}});
  t.is(narrowed.metadata?.generation, 2);
  t.deepEqual(await problems(pods.update({...narrowed, spec: {...narrowed.spec!, nodeSelector: {disk: 'hdd'}}})), [
    'spec.nodeSelector: Invalid value: {"disk":"hdd"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
  ]);
  const {schedulingGates: _, ...free} = narrowed.spec!;
  const freed = await pods.update({...narrowed, spec: free});
  t.is(freed.spec?.schedulingGates, undefined);
});
